"""The types of the results of `interactions`."""

from __future__ import annotations

from typing import TypedDict

from report.records.estimates import Difference, JudgedOutcome


class AtLevel(Difference):
    """The difference at one level of a hyperparameter."""

    value: str | int | float | bool
    configurations: int


class Interaction(TypedDict):
    """The interaction of arm and hyperparameter, and the difference at each of its levels."""

    explained: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    levels: list[AtLevel]


class PairOfHyperparameters(TypedDict):
    """Whether the effects of two hyperparameters on the difference add up."""

    hyperparameters: list[str]
    explained: float
    p_value: float
    p_adjusted: float


class OtherShare(Difference):
    """The difference in a space in which a group of levels has this share."""

    share: float


class OtherSpace(TypedDict):
    """The group of levels on whose share the difference depends most."""

    hyperparameter: str
    values: list[str | int | float | bool]
    drawn: float
    """The group's share of the drawn configurations."""
    without: float
    within: float
    curve: list[OtherShare]


class InteractionsResult(TypedDict):
    """What the difference of two arms depends on."""

    arms: list[str]
    outcome: JudgedOutcome | None
    """None of scores."""
    why_not: str | None
    permutations: int | None
    hyperparameters: dict[str, Interaction]
    pairs: list[PairOfHyperparameters]
    other_space: OtherSpace | None
