"""How fast the store takes in and gives back a large study: 10,000 trials, 200,000 epochs, beside bare sqlite3.

    python benchmarks/store.py [URL]

Prints rows a second for writing 200,000 epochs and the seconds for reading frames and for `robustness status`, and ends
with 1 if one of the limits is missed: 5,000 epochs a second, 2 s for the frame of 10,000 trials, 1 s for their status
and 0.3 s for `robustness --help`, both with Python's start. Without a URL a temporary SQLite file is used.

Every end of a trial is one commit, so long trials are faster by the row: the rate for trials of 160 epochs, about the
length of the paper's, is printed as well.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustness.store import StudyStore, open_store
from robustness.store.schema import MEASURES
from robustness.trial import EpochResult, Trial

TRIALS = 10_000
EPOCHS = 20
LONG_TRAINED, LONG_EPOCHS = 250, 160
ROWS = TRIALS * EPOCHS
LEAST_ROWS_A_SECOND, MOST_SECONDS = 5_000, 2.0
MOST_STATUS_SECONDS, MOST_HELP_SECONDS = 1.0, 0.3
REPEATS = 5


@dataclass(frozen=True)
class LargeStudy:
    """A study and its plan in one, as far as the store asks for either."""

    name: str = "large"
    hash: str = "large"

    def document(self) -> dict[str, Any]:
        outcomes = {"metric": "validation_auc", "primary": "good", "good": {"at_least": 0.8}}
        return {
            "name": self.name,
            "sampling": {"seed": 0},
            "training": {"epochs": EPOCHS},
            "outcomes": {**outcomes, "learned_nothing": {"below": 0.6}},
        }

    @property
    def trials(self) -> list[Trial]:
        drawn = [
            {"optimizer": ("sgd", "amsgrad")[n % 2], "learning_rate": 10.0 ** -(n % 5), "batch_size": 16, "number": n}
            for n in range(TRIALS // 2)
        ]
        return [
            Trial(self.name, 0, number, arm, hyperparameters=values)
            for number, values in enumerate(drawn)
            for arm in ("mfvi", "radial")
        ]


def measures(epoch: int) -> dict[str, float]:
    """Every usual measure, and two that have no column of their own."""
    return {**{name: epoch / (1 + place) for place, name in enumerate(MEASURES)}, "own": 1.0 / epoch, "other": 2.0}


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def write_all(study: StudyStore, trained: int, epochs: int) -> None:
    """What a sweep does: starts, epochs and ends, of 16 trials at a time, each end flushed."""
    keys = study.pending()[:trained]
    with study.writer() as writer:
        for first in range(0, len(keys), 16):
            together = keys[first : first + 16]
            for key in together:
                writer.started(key, 1, "worker", "cpu")
            for epoch in range(1, epochs + 1):
                for key in together:
                    writer.epoch(key, EpochResult(epoch, measures(epoch), seconds=1.0))
            for key in together:
                writer.ended(key, "finished", 0.8, epochs, seconds=20.0)


def write_bare(file: Path) -> None:
    """The same rows by bare sqlite3 in one transaction: what the disk and SQLite itself allow."""
    names = ("trial", "epoch", "pretraining", "seconds", *MEASURES, "measures")
    with closing(sqlite3.connect(file)) as plain, plain:
        plain.execute(f"CREATE TABLE epochs ({', '.join(names)}, PRIMARY KEY (trial, epoch))")
        rows = (
            (
                trial,
                epoch,
                False,
                1.0,
                *list(measures(epoch).values())[: len(MEASURES)],
                json.dumps({"own": 1.0 / epoch}),
            )
            for trial in range(TRIALS)
            for epoch in range(1, EPOCHS + 1)
        )
        plain.executemany(f"INSERT INTO epochs VALUES ({', '.join('?' * len(names))})", rows)  # noqa: S608


def command_seconds(*words: str) -> float:
    """The median time of a command of ours, from Python's start to its end."""
    line = [sys.executable, "-m", "robustness", *words]
    times = [timed(lambda: subprocess.run(line, check=True, stdout=subprocess.DEVNULL)) for _ in range(REPEATS)]
    return statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser(description="How fast the store takes in and gives back a large study.")
    parser.add_argument("url", nargs="?", help="an empty store; default: a temporary SQLite file")
    url = parser.parse_args().url
    with tempfile.TemporaryDirectory() as folder:
        bare = timed(lambda: write_bare(Path(folder) / "bare.db"))
        with open_store(url or f"sqlite:///{folder}/store.db") as store:
            register = timed(lambda: store.register(LargeStudy(), LargeStudy()))
            study = store.study("large")
            write = timed(lambda: write_all(study, TRIALS, EPOCHS))
            other = LargeStudy("long", "long")
            store.register(other, other)
            long = timed(lambda: write_all(store.study("long"), LONG_TRAINED, LONG_EPOCHS))
            import pandas as pd  # so that its import counts for no frame

            trials = timed(lambda: study.trials())
            epochs = timed(lambda: study.epochs())
            states = timed(lambda: study.states())
            status = command_seconds("status", "large", "--store", url or f"sqlite:///{folder}/store.db")
    helped = command_seconds("--help")
    rate, bare_rate = ROWS / write, ROWS / bare
    print(f"register {TRIALS} trials    {register:8.2f} s")
    print(f"write {ROWS} epochs     {write:8.2f} s   {rate:10.0f} rows/s")
    print(f"  in trials of {LONG_EPOCHS}      {long:8.2f} s   {LONG_TRAINED * LONG_EPOCHS / long:10.0f} rows/s")
    print(f"  bare sqlite3, one go  {bare:8.2f} s   {bare_rate:10.0f} rows/s   ({bare_rate / rate:.1f} x)")
    print(f"frame of {TRIALS} trials    {trials:8.2f} s   (pandas {pd.__version__})")
    print(f"frame of {ROWS} epochs  {epochs:8.2f} s")
    print(f"states of {TRIALS} trials   {states:8.2f} s")
    print(f"robustness status       {status:8.2f} s")
    print(f"robustness --help       {helped:8.2f} s")
    met = (
        rate > LEAST_ROWS_A_SECOND
        and trials < MOST_SECONDS
        and status < MOST_STATUS_SECONDS
        and helped < MOST_HELP_SECONDS
    )
    limits = f"{LEAST_ROWS_A_SECOND} rows/s, {MOST_SECONDS} s, {MOST_STATUS_SECONDS} s, {MOST_HELP_SECONDS} s"
    print("limits met" if met else f"LIMITS MISSED: {limits}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
