"""How well a sweep uses its workers: bare training times / (workers x wall time) for real trials; the aim is 0.90.

The bare time of a trial is that of its epochs when it trains alone in this process; then the same trials run through
Ray Tune, from the start of the first trial to the end of the last: Ray's own start is no part of it.

python benchmarks/use_of_workers.py
"""

from __future__ import annotations

import argparse
import sys
import time

import torch

from robustness.execution import Ending, Started, Terms
from robustness.execution.connection import connected
from robustness.execution.tune import TuneExecutor
from robustness.plan import make_plan
from robustness.study import load_study
from robustness.training import train
from robustness.trial import EpochResult, TrialKey

AIM = 0.90


class Clock:
    """The time from the first start to the last end, and the times of epochs."""

    def __init__(self) -> None:
        self.first = self.last = 0.0
        self.epochs = 0.0

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:  # noqa: ARG002
        self.first = self.first or time.perf_counter()

    def epoch(self, key: TrialKey, result: EpochResult) -> None:  # noqa: ARG002
        self.epochs += result.seconds

    def ended(self, key: TrialKey, ending: Ending) -> None:
        assert ending.status in ("finished", "diverged"), f"{key}: {ending}"
        self.last = time.perf_counter()


def main() -> int:
    parser = argparse.ArgumentParser(description="The use that a sweep makes of its workers.")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    study = load_study("quickstart", [f"sampling.configurations={arguments.pairs}", "training.epochs=4"])
    # Longest first, so that the last trials end together: what is measured is overhead, not the tail of a schedule.
    planned = sorted(make_plan(study).trials, key=lambda t: t.hyperparameters["variational_samples"], reverse=True)
    bare = sum(result.seconds for trial in planned for result in train(trial))
    clock = Clock()
    with connected(cpus=arguments.workers):
        executor = TuneExecutor(arguments.workers)
        executor.run(iter(planned), clock, Terms())
    wall = clock.last - clock.first
    use = bare / (arguments.workers * wall)
    slower = clock.epochs / bare
    print(f"bare {bare:.1f} s, {arguments.workers} workers x {wall:.1f} s: use {use:.3f} (aim: at least {AIM})")
    print(f"an epoch in a worker takes {slower:.2f} times as long as alone: what the machine's cores share")
    return 0 if use >= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
