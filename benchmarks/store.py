"""Speed of writing and reading a large study: 10,000 trials with 200,000 epochs, compared with bare sqlite3.

The end of each trial is one commit, so long trials write more rows per second: the rate for trials of 160 epochs, about
as long as the paper's, is measured as well. Also measured are the run times of `robustness status` on the large study,
which must not import torch or Ray, and of `robustness --help`, both including the start of Python.

    python benchmarks/store.py [URL]        defaults to a temporary SQLite file
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show

from robustness.store import StudyStore, open_store
from robustness.store.schema import MEASURES
from robustness.trial import EpochResult, Trial

TRIALS = 10_000
EPOCHS = 20
LONG_TRAINED, LONG_EPOCHS = 250, 160
ROWS = TRIALS * EPOCHS
MIN_ROWS_PER_SECOND, MAX_FRAME_SECONDS = 15_000, 2.0
MAX_STATUS_SECONDS, MAX_HELP_SECONDS = 1.0, 0.3
REPEATS = 5


@dataclass(frozen=True)
class LargeStudy:
    """A study and its plan in one, with the attributes that the store uses."""

    name: str = "large"
    hash: str = "large"
    count: int = TRIALS

    @property
    def keeps_curves(self) -> bool:
        return False

    def document(self) -> dict[str, Any]:
        outcomes = {"metric": "validation_auc", "epoch": "best", "primary": "good", "good": {"at_least": 0.8}}
        return {
            "name": self.name,
            "sampling": {"seed": 0},
            "training": {"epochs": EPOCHS},
            "outcomes": {"epoch": "best", **outcomes, "learned_nothing": {"below": 0.6}},
        }

    @property
    def trials(self) -> list[Trial]:
        drawn = [
            {"optimizer": ("sgd", "amsgrad")[n % 2], "learning_rate": 10.0 ** -(n % 5), "batch_size": 16, "number": n}
            for n in range(self.count // 2)
        ]
        return [
            Trial(self.name, 0, number, arm, hyperparameters=values)
            for number, values in enumerate(drawn)
            for arm in ("mfvi", "radial")
        ]


def measures(epoch: int) -> dict[str, float]:
    """All standard measures, and two without a dedicated column."""
    return {**{name: epoch / (1 + place) for place, name in enumerate(MEASURES)}, "own": 1.0 / epoch, "other": 2.0}


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def write_all(study: StudyStore, trained: int, epochs: int) -> None:
    """Write what a sweep writes: starts, epochs and ends of 16 trials at a time, flushing each end."""
    keys = study.pending()[:trained]
    with study.writer() as writer:
        for first in range(0, len(keys), 16):
            batch = keys[first : first + 16]
            for key in batch:
                writer.started(key, 1, "worker", "cpu")
            for epoch in range(1, epochs + 1):
                for key in batch:
                    writer.epoch(key, EpochResult(epoch, measures(epoch), seconds=1.0))
            for key in batch:
                writer.ended(key, "finished", 0.8, epochs, seconds=20.0)


def write_bare(file: Path) -> None:
    """The same rows with bare sqlite3 in one transaction: the limit set by the disk and SQLite."""
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
    """Median run time of a `robustness` command, including the start of Python."""
    line = [sys.executable, "-m", "robustness", *words]
    times = [timed(lambda: subprocess.run(line, check=True, stdout=subprocess.DEVNULL)) for _ in range(REPEATS)]
    return statistics.median(times)


def imports(*words: str) -> int:
    """Number of heavy modules (torch, Ray) that a command imports."""
    code = f"""
import sys
from robustness.cli import main
main({list(words)!r})
print()
print(sum(module in sys.modules for module in ("torch", "ray")))
"""
    process = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(process.stdout.splitlines()[-1])


def results(url: str | None) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        url = url or f"sqlite:///{folder}/store.db"
        bare = timed(lambda: write_bare(Path(folder) / "bare.db"))
        with open_store(url) as store:
            register = timed(lambda: store.register(LargeStudy(), LargeStudy()))
            yield Result(f"register {TRIALS:,} trials", register, "s")
            study = store.study("large")
            write = timed(lambda: write_all(study, TRIALS, EPOCHS))
            note = f"bare sqlite3 in one transaction {ROWS / bare:,.0f} rows/s"
            yield Result(f"write {ROWS:,} epochs", ROWS / write, "rows/s", least=MIN_ROWS_PER_SECOND, note=note)
            other = LargeStudy("long", "long")
            store.register(other, other)
            long = timed(lambda: write_all(store.study("long"), LONG_TRAINED, LONG_EPOCHS))
            yield Result(f"write trials of {LONG_EPOCHS} epochs", LONG_TRAINED * LONG_EPOCHS / long, "rows/s")
            import pandas as pd  # noqa: F401  so that importing it is not part of the first frame

            frame = timed(lambda: study.trials())
            yield Result(f"frame of {TRIALS:,} trials", frame, "s", most=MAX_FRAME_SECONDS)
            yield Result(f"frame of {ROWS:,} epochs", timed(lambda: study.epochs()), "s")
        status_command = ("status", "large", "--store", url)
        status = command_seconds(*status_command)
        yield Result(f"robustness status of {TRIALS:,} trials", status, "s", most=MAX_STATUS_SECONDS)
        loaded = imports(*status_command)
        yield Result("robustness status: imports of torch and Ray", loaded, "modules", most=0)
    yield Result("robustness --help", command_seconds("--help"), "s", most=MAX_HELP_SECONDS)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("url", nargs="?", help="an empty store; default: a temporary SQLite file")
    arguments = options.parse_args()
    return show(results(arguments.url), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
