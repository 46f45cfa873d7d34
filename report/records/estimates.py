"""Estimates with their 95 % intervals; None for a number that does not exist."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

JudgedOutcome: TypeAlias = Literal["learned_nothing", "good"]
"""An outcome whose fraction is reported."""


class Ends(TypedDict):
    """The ends of a 95 % interval; `interval` names its method, or says why there is none."""

    low: float | None
    high: float | None
    interval: str


class Mean(Ends):
    """A mean with its interval."""

    mean: float | None


class Difference(Ends):
    """A difference of two fractions or means with its interval."""

    difference: float | None


class Share(Ends):
    """A fraction of units that count once each."""

    count: int
    of: int
    fraction: float | None


class Replicates(TypedDict):
    """What an estimate is over."""

    configurations: int
    replicates: int
    """The most of any configuration."""


class Fraction(Share, Replicates):
    """A fraction of trials, as a mean over configurations."""

    effective: float
    """The number of independent trials that they are worth."""


class OutcomeFractions(TypedDict):
    """An arm's fractions, judged at one epoch."""

    learned_nothing: Fraction
    good: Fraction


class FractionsByEpoch(TypedDict):
    """An arm's fractions, judged at the best and at the last epoch."""

    best: OutcomeFractions
    last: OutcomeFractions


class ArmCounts(OutcomeFractions):
    """An arm's trials and its fractions at the study's epoch."""

    trials: int
    counted: int
    paired: int
    configurations: int
    best: float | None
    median: float | None
    mean: float | None
    at: FractionsByEpoch
    diverged: int
    good_then_diverged: int


def known(value: float | None) -> float:
    """The value of an entry that has one; raises ValueError where it has none."""
    if value is None:
        raise ValueError("this entry of the results has no value")
    return value
