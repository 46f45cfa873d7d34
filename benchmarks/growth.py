"""How store, report and driver grow with a study: 100, 1,000 and 10,000 trials, and the cost of each by the trial.

Writing and reading the store and making the report are measured at each size, in processor seconds of the process that
does it. The driver runs simulated trials that import no torch, and its last trials are compared with its first.

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
MOST_GROWTH = 1.2
"""What a trial may cost in a study ten times as large; by more than noise it should not cost more."""
LARGEST, SLOWEST = 1.5, 1.5
REPEATS = 3


class Watch:
    """Notes when each trial ended, and the most memory that the driver had."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.largest = 0

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        pass

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        pass

    def ended(self, key: TrialKey, ending: Ending) -> None:
        assert ending.status == "finished", f"{key}: {ending}"
        self.times.append(time.perf_counter())
        if len(self.times) % 100 == 0:
            self.largest = max(self.largest, psutil.Process().memory_info().rss)


def growth(name: str, costs: dict[int, float], unit: str) -> Iterator[Result]:
    """The cost of a trial at each size, and how much more it is in the largest study than in the smaller ones."""
    each = {size: cost / size for size, cost in costs.items()}
    largest = max(each)
    smaller = min(value for size, value in each.items() if size != largest)
    note = ", ".join(f"{size:,}: {1000 * value:.2f} m{unit}" for size, value in each.items())
    yield Result(f"{name}: a trial of {largest:,} / of fewer", each[largest] / smaller, most=MOST_GROWTH, note=note)


def processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def store_results() -> Iterator[Result]:
    write, frames = {}, {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/store.db") as opened:
            made = store.LargeStudy(count=size)
            opened.register(made, made)
            study = opened.study(made.name)
            write[size] = processor_seconds(lambda study=study, size=size: store.write_all(study, size, store.EPOCHS))  # type: ignore[misc]
            study.trials()
            read = [processor_seconds(lambda study=study: (study.trials(), study.epochs())) for _ in range(REPEATS)]  # type: ignore[misc]
            frames[size] = min(read)
    yield from growth("store, writing", write, "s")
    yield from growth("store, reading frames", frames, "s")


def report_results() -> Iterator[Result]:
    costs = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            name = report_page.fill(Path(folder) / "store.db", size // 2)
            url, page = f"sqlite:///{folder}/store.db", f"{folder}/page.html"
            command = [sys.executable, report_page.__file__, "--one", url, name, page]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            costs[size] = json.loads(done.stdout)["processor"]
    yield from growth("report", costs, "s")


def driver_results(count: int, workers: int) -> Iterator[Result]:
    watch = Watch()
    with connected(cpus=workers):
        TuneExecutor(workers).run(trials(count), watch, Terms())
    # From the first end on: the first trials wait for the workers to start, which is no cost of a trial. Medians of
    # stretches of trials, so that one slow moment of the machine does not decide.
    stretch = max(count // 50, 2)
    ends = watch.times[::stretch]
    lengths = [(after - before) / stretch for before, after in pairwise(ends)]
    fifth = max(len(lengths) // 5, 1)
    first, last = statistics.median(lengths[:fifth]), statistics.median(lengths[-fifth:])
    note = f"{1000 * first:.1f} ms, {1000 * last:.1f} ms each"
    yield Result(f"driver, {count:,} trials: the last fifth / the first", last / first, most=SLOWEST, note=note)
    yield Result(f"driver, {count:,} trials: most memory", watch.largest / 1e9, "GB", most=LARGEST)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--trials", type=int, default=3000, help="how many the driver runs")
    options.add_argument("--workers", type=int, default=2)
    arguments = options.parse_args()

    def results() -> Iterator[Result]:
        yield from store_results()
        yield from report_results()
        yield from driver_results(arguments.trials, arguments.workers)

    return show(results(), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
