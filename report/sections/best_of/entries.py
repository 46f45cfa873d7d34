"""The types of the results of `best_of`."""

from __future__ import annotations

from typing import TypedDict

from report.records.estimates import Ends


class WinAt(Ends):
    """The probability that the first arm's best of `first` trials is better than the second's best of `second`."""

    first: int
    second: int
    hours: float | None
    """The budget, where it is one of hours; else None."""
    probability: float


class Crossing(TypedDict):
    """The number of trials at which the likelier winner changes, and the range in which it may be even."""

    trials: int | None
    low: int | None
    high: int | None


class HoursToTarget(TypedDict):
    """Mean hours of a trial, and the hours until one of the arm's trials is good with 90 % chance."""

    trial: float | None
    target: float | None
    target_low: float | None
    target_high: float | None
    """By the ends of the interval of the share of good trials; None where no number of trials is enough."""


class BestOfResult(TypedDict):
    """Two arms at every budget."""

    arms: list[str]
    configurations: int
    trials: list[WinAt]
    crossing: Crossing
    hours: list[WinAt]


class OnTask(TypedDict):
    """The comparisons of arms that are tuned for one task alone, by number of trials."""

    task: str
    comparisons: list[BestOfResult]


class BestOfResults(TypedDict):
    """Every comparison, and what a trial of each arm costs."""

    chance: float
    cost: dict[str, HoursToTarget]
    comparisons: list[BestOfResult]
    """With several tasks, of one configuration for all of them."""
    tasks: list[OnTask]
    """Empty with a single task."""
