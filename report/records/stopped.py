"""Why and on what evidence a sweep's `stop` section ended it, as the store keeps it."""

from __future__ import annotations

from typing import TypedDict

from robustness.sweep.stopping import Reason


class StoppedComparison(TypedDict, total=False):
    """The evidence on two arms."""

    arms: list[str]
    pairs: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    decided: bool
    equivalent: bool
    """Whether the arms were shown to be equivalent; only with `stop.equivalence`."""


class Stopped(StoppedComparison, total=False):
    """The note of a sweep that ended early, also of earlier versions; with one comparison, its keys are here, too."""

    reason: Reason
    outcome: str
    level: float
    configurations: int
    comparisons: list[StoppedComparison]
