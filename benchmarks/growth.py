"""Scaling of store, report and driver with the size of a study: cost per trial for 100, 1,000 and 10,000 trials.

Writing and reading the store and creating the report are measured at each size, in CPU seconds of the process that does
the work. The driver runs simulated trials that do not import torch, and its last trials are compared with its first.

    python benchmarks/growth.py
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent))

import report_page
import store
from results import Result, parser, show
from simulated_trials import trials

from robustness.execution.protocol import Ending, Started, Terms
from robustness.execution.ray_session import connected
from robustness.execution.tune import TuneExecutor
from robustness.store import open_store
from robustness.trial import EpochResult, TrialKey

SIZES = (100, 1_000, 10_000)
MAX_GROWTH = 1.2
"""Maximum ratio of the cost of a trial in the largest study to that in a smaller one; leaves room for noise."""
MAX_MEMORY, MAX_SLOWDOWN = 1.5, 1.5
REPEATS = 3


class Watch:
    """Records when each trial ended and the peak memory of the driver."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.peak_memory = 0

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        pass

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        pass

    def ended(self, key: TrialKey, ending: Ending) -> None:
        assert ending.status == "finished", f"{key}: {ending}"
        self.times.append(time.perf_counter())
        if len(self.times) % 100 == 0:
            self.peak_memory = max(self.peak_memory, psutil.Process().memory_info().rss)


def growth(name: str, costs: dict[int, float], unit: str) -> Iterator[Result]:
    """Ratio of the cost per trial in the largest study to the lowest in a smaller one."""
    per_trial = {size: cost / size for size, cost in costs.items()}
    largest = max(per_trial)
    smaller = min(value for size, value in per_trial.items() if size != largest)
    note = ", ".join(f"{size:,}: {1000 * value:.2f} m{unit}" for size, value in per_trial.items())
    ratio = per_trial[largest] / smaller
    yield Result(f"{name}: cost per trial, {largest:,} / fewer", ratio, most=MAX_GROWTH, note=note)


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def store_results() -> Iterator[Result]:
    write, frames = {}, {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/store.db") as opened:
            large = store.LargeStudy(count=size)
            opened.register(large, large)
            study = opened.study(large.name)
            write[size] = cpu_seconds(lambda study=study, size=size: store.write_all(study, size, store.EPOCHS))  # type: ignore[misc]
            study.trials()
            read = [cpu_seconds(lambda study=study: (study.trials(), study.epochs())) for _ in range(REPEATS)]  # type: ignore[misc]
            frames[size] = min(read)
    yield from growth("store, writing", write, "s")
    yield from growth("store, reading frames", frames, "s")


def report_results() -> Iterator[Result]:
    costs = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            name = report_page.fill(Path(folder) / "store.db", replace(report_page.SMALL, configurations=size // 2))
            url, page = f"sqlite:///{folder}/store.db", f"{folder}/page.html"
            command = [sys.executable, report_page.__file__, "--one", url, name, page]
            process = subprocess.run(command, capture_output=True, text=True, check=True)
            costs[size] = json.loads(process.stdout)["processor"]
    yield from growth("report", costs, "s")


def driver_results(count: int, workers: int) -> Iterator[Result]:
    watch = Watch()
    with connected(cpus=workers):
        TuneExecutor(workers).run(trials(count), watch, Terms())
    # Counted from the first end, because the first trials wait for the workers to start. Medians over stretches of
    # trials, so that a single slow moment of the machine does not matter.
    stretch = max(count // 50, 2)
    ends = watch.times[::stretch]
    lengths = [(after - before) / stretch for before, after in pairwise(ends)]
    fifth = max(len(lengths) // 5, 1)
    first, last = statistics.median(lengths[:fifth]), statistics.median(lengths[-fifth:])
    note = f"{1000 * first:.1f} ms, {1000 * last:.1f} ms each"
    yield Result(f"driver, {count:,} trials: last fifth / first fifth", last / first, most=MAX_SLOWDOWN, note=note)
    yield Result(f"driver, {count:,} trials: peak memory", watch.peak_memory / 1e9, "GB", most=MAX_MEMORY)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--trials", type=int, default=3000, help="number of trials of the driver")
    options.add_argument("--workers", type=int, default=2)
    arguments = options.parse_args()

    def results() -> Iterator[Result]:
        yield from store_results()
        yield from report_results()
        yield from driver_results(arguments.trials, arguments.workers)

    return show(results(), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
