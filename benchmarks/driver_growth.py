"""Whether the driver stays small and quick over a long sweep: 5,000 simulated trials that import no torch.

python benchmarks/driver_growth.py     aims: below 1.5 GB; the last thousand at most 1.5 times as long as the first
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent))

from simulated_trials import trials

from robustness.execution import Ending, Started, Terms
from robustness.execution.connection import connected
from robustness.execution.tune import TuneExecutor
from robustness.trial import EpochResult, TrialKey

LARGEST = 1.5e9
SLOWEST = 1.5


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


def main() -> int:
    parser = argparse.ArgumentParser(description="The driver's growth.")
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    watch = Watch()
    with connected(cpus=arguments.workers):
        # The first trials wait for the workers to start, which is no cost of a trial.
        start = len(watch.times)
        TuneExecutor(arguments.workers).run(trials(arguments.trials), watch, Terms())
    part = max(arguments.trials // 5, 2)
    first = watch.times[start + part - 1] - watch.times[start]
    last = watch.times[-1] - watch.times[-part]
    print(f"{len(watch.times)} trials; the driver's memory at most {watch.largest / 1e9:.2f} GB (aim: below 1.5)")
    print(f"first {part}: {first:.1f} s, last {part}: {last:.1f} s, ratio {last / first:.2f} (aim: at most {SLOWEST})")
    return 0 if watch.largest < LARGEST and last <= SLOWEST * first else 1


if __name__ == "__main__":
    sys.exit(main())
