"""Time, memory and file size of the report, for the paper's study and for one with 10,000 trials.

    python benchmarks/report_page.py [--small]

Writes two studies with simulated results, 172 trials and 10,000 trials of 150 epochs, to a temporary SQLite store, and
the report of each in a separate process. The limits are 10 s and 2 MB; 15 s, 0.6 GB of memory and 2 MB. Times are
wall-clock times, which say little on a busy machine, so the CPU time is printed as well.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show
from store import command_seconds

from robustness.goal import MAXIMIZE
from robustness.store import StudyStore, open_store
from robustness.store.consistency import KEY, trial_checksums
from robustness.store.epoch_summaries import summaries, trial_starts
from robustness.study.loading import make_study
from robustness.sweep.plan import make_plan

MEASURED = ("validation_auc", "train_auc", "nll", "cross_entropy", "gradient_sd")
SPACE = {
    "optimizer": ["sgd", "amsgrad"],
    "learning_rate": {"low": 1.0e-5, "high": 1.0e-2, "scale": "log"},
    "batch_size": [16, 32, 64, 128, 256],
    "variational_samples": [1, 2, 4],
    "initial_rho": [-6, -4, -2, 0],
}


@dataclass(frozen=True)
class Size:
    """A study of two arms, and the limits for its report."""

    configurations: int
    epochs: int
    seconds: float
    megabytes: float
    memory: float | None
    """In GB."""


SMALL, USUAL, LARGE = Size(86, 150, 10.0, 2.0, None), Size(5000, 150, 15.0, 2.0, 0.6), Size(50_000, 20, 90.0, 20.0, 3.0)
MAX_STATUS = 2.0


def fill(file: Path, size: Size) -> str:
    """Register a study of two arms, write simulated results of all its trials and return its name."""
    data: dict[str, Any] = {
        "name": f"made_{size.configurations}",
        "task": {"name": "synthetic_fundus", "image_size": 32, "train": 500},
        "model": {"name": "vgg_small", "base_channels": 16, "depth": "short"},
        "arms": ["mfvi", "radial"],
        "space": SPACE,
        "sampling": {"strategy": "random", "configurations": size.configurations, "seed": 0},
        "training": {"epochs": size.epochs, "pretrain_epochs": 1},
        "outcomes": {"learned_nothing": {"below": 0.6}, "good": {"at_least": 0.8}},
    }
    study = make_study(data, "made.yaml", check_data=False)
    with open_store(f"sqlite:///{file}") as store:
        store.register(study, make_plan(study))
    # Directly into the tables, because the writer, which benchmarks/store.py measures, would take minutes.
    with closing(sqlite3.connect(file)) as connection:
        columns = ("trial", "epoch", "pretraining", "seconds", *MEASURED)
        places = ", ".join("?" * len(columns))
        insert = f"INSERT INTO robustness_epochs ({', '.join(columns)}) VALUES ({places})"  # noqa: S608
        connection.executemany(insert, epochs(connection, size.epochs))
        connection.execute(
            "UPDATE robustness_trials SET status = 'finished', attempts = 1, seconds = 900.0, "
            "worker = 'w' || (id % 8), device = 'cpu', started = 1.7e9 + 100.0 * id, ended = 1.7e9 + 100.0 * id + 900.0"
        )
        connection.commit()
        with open_store(f"sqlite:///{file}", create=False) as store:
            ends = results(store.study(study.name))
        update = "UPDATE robustness_trials SET metric = ?, metric_epoch = ?, checksum = ? WHERE position = ?"
        connection.executemany(update, ends)
        connection.commit()
    return study.name


def epochs(connection: sqlite3.Connection, count: int) -> Iterator[tuple[float, ...]]:
    """Rows of epochs: noisy curves that rise to a different height for each trial."""
    rng = np.random.default_rng(0)
    rise = 1 - np.exp(-np.arange(count) / 40)
    for trial, arm in connection.execute("SELECT id, arm FROM robustness_trials ORDER BY id").fetchall():
        height = rng.beta(1.2, 3.0 if arm == "mfvi" else 1.5) * 0.47
        score = 0.5 + height * rise + rng.normal(0, 0.01, count)
        noise = 0.4 if arm == "mfvi" else 0.02
        for number in range(count):
            value = float(score[number])
            yield (trial, number + 1, number == 0, 6.0, value, value + 0.01, 1.1 - value, 40 + 60 / (number + 1), noise)


def results(study: StudyStore) -> list[tuple[float, int, str, int]]:
    """What the writer keeps of each trial at its end, which every reader checks: metric, its epoch, checksum, place."""
    trials, stored = study.trials(), study.epochs()
    _, best, _ = summaries(stored.loc[~stored["pretraining"]], KEY, "validation_auc", MAXIMIZE)
    trials = trials.assign(metric=best["best"].to_numpy(), metric_epoch=best["best_epoch"].to_numpy())
    starts = trial_starts(stored, KEY)
    checksums = trial_checksums(trials, stored, np.arange(len(trials)).repeat(np.diff([*starts, len(stored)])))
    ends = (trials["metric"].tolist(), trials["metric_epoch"].tolist(), checksums, range(len(trials)))
    return list(zip(*ends, strict=True))


def report(url: str, name: str, out: str) -> None:
    """Write the report; print wall-clock seconds, CPU seconds and peak memory in kB as JSON."""
    start = time.perf_counter()
    from report.page import write_report

    with open_store(url, create=False) as store:
        write_report(store.study(name), out)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    elapsed = time.perf_counter() - start
    print(json.dumps({"seconds": elapsed, "processor": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss}))


def measure(size: Size) -> Iterator[Result]:
    """Fill a store and write its report in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        name = fill(Path(folder) / "store.db", size)
        page = Path(folder) / f"{name}.html"
        command = [sys.executable, __file__, "--one", f"sqlite:///{folder}/store.db", name, str(page)]
        process = subprocess.run(command, capture_output=True, text=True, check=True)
        measured = json.loads(process.stdout)
        what = f"report of {2 * size.configurations:,} trials of {size.epochs} epochs"
        note = f"CPU {measured['processor']:.1f} s"
        yield Result(f"{what}: time", measured["seconds"], "s", most=size.seconds, note=note)
        yield Result(f"{what}: file", page.stat().st_size / 1e6, "MB", most=size.megabytes)
        yield Result(f"{what}: peak memory", measured["memory"] / 1e6, "GB", most=size.memory)
        if size is LARGE:
            status = command_seconds("status", name, "--store", f"sqlite:///{folder}/store.db")
            yield Result(f"robustness status of {2 * size.configurations:,} trials", status, "s", most=MAX_STATUS)


def main() -> int:
    """Measure two sizes, only the small one, or only the largest."""
    options = parser(__doc__)
    options.add_argument("--small", action="store_true", help="only the paper's size")
    options.add_argument("--large", action="store_true", help="only 100,000 trials of 20 epochs, in some minutes")
    options.add_argument("--one", nargs=3, metavar=("URL", "STUDY", "FILE"), help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.one:
        report(*arguments.one)
        return 0
    sizes = (SMALL,) if arguments.small else (LARGE,) if arguments.large else (SMALL, USUAL)
    return show((result for size in sizes for result in measure(size)), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
