"""A trial run once more for a person to look at: what it shows is printed, and nothing is stored."""

from __future__ import annotations

from robustness.execution.protocol import Ending, Started
from robustness.trial import NO_RESULT, EpochResult, TrialKey


class Printer:
    """An observer that prints each epoch and each ending, with its traceback."""

    def __init__(self, metric: str) -> None:
        self.failed = False
        self._metric = metric

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        print(f"{key}: attempt {attempt} on {where.device}")

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        value = result.measures.get(self._metric)
        print(f"{key}: epoch {result.epoch}" + ("" if value is None else f", {self._metric} {value:.4f}"))

    def ended(self, key: TrialKey, ending: Ending) -> None:
        print(f"{key}: {ending.status}" + (f"\n{ending.error}" if ending.error else ""))
        self.failed = self.failed or ending.status in NO_RESULT
