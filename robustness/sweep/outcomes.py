"""What an ended trial shows: it learned nothing, is good, or lies between; or it is left out of the fractions.

Judged at the best epoch a diverged trial counts by the epochs it recorded; at the last epoch it learned nothing.
Out of memory, time-out and failure are left out. Pre-training epochs never count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from robustness.metrics import METRICS
from robustness.trial import COUNTED, EpochResult, Status

Outcome: TypeAlias = Literal["learned_nothing", "between", "good"]

UNTRAINED_NOTE = "untrained"
"""The note of a study in the store that holds its untrained networks' scores and the threshold made of them."""

OBJECTIVES = {metric.objective: name for name, metric in METRICS.items() if metric.objective is not None}
"""Metric behind each name of a search's objective."""


def judged_epoch(
    epochs: Iterable[EpochResult], metric: str, rule: str, status: Status
) -> tuple[float | None, int | None]:
    """The metric and number of the epoch by which a trial is judged (`rule`: best or last), or None, None.

    The best is the first of equals.
    """
    counted = [
        (epoch.measures[metric], epoch.epoch) for epoch in epochs if not epoch.pretraining and metric in epoch.measures
    ]
    finite = [(value, number) for value, number in counted if math.isfinite(value)]
    if not finite:
        return None, None
    if rule == "last":
        return (None, None) if status == "diverged" else finite[-1]
    return max(finite, key=lambda pair: (pair[0], -pair[1]))


@dataclass(frozen=True)
class Judge:
    """Classifies trials by the thresholds of a study."""

    nothing: float
    """Learned nothing: the metric is below this."""
    good: float
    """Good: the metric is at least this."""
    inclusive: bool = False
    """Whether a metric equal to `nothing` has learned nothing, too: no better than an untrained network."""

    @staticmethod
    def of(document: Mapping[str, Any], untrained: Mapping[str, Any] | None) -> Judge:
        """The judge of a study's document and, where it asks for them, its untrained networks' note."""
        outcomes = document["outcomes"]
        below = outcomes["learned_nothing"].get("below")
        good = float(outcomes["good"]["at_least"])
        if below is not None:
            return Judge(float(below), good)
        threshold = math.nan if untrained is None else float(untrained["threshold"])
        return Judge(threshold, good, inclusive=True)

    def outcome(self, status: Status | str, metric: float | None) -> Outcome | None:
        """What a trial shows; None while it runs and for trials that are left out."""
        if status not in COUNTED:
            return None
        if metric is None or math.isnan(metric):
            return "learned_nothing" if status == "diverged" else None
        if metric < self.nothing or (self.inclusive and metric == self.nothing):
            return "learned_nothing"
        return "good" if metric >= self.good else "between"
