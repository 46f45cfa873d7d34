"""Paired comparisons of two arms: differences are the first arm minus the second."""

from __future__ import annotations

from typing import NotRequired

from report.records.estimates import Difference, Ends, JudgedOutcome, Replicates, Share
from robustness.sweep.outcomes import Summary


class Tested(Ends):
    """An interval and the test that it belongs to."""

    p_value: float | None
    test: str


class Corrected(Tested):
    """A test of one family, with its p-value after correction for the others; None where there is no p-value."""

    p_adjusted: float | None


class TestedDifference(Tested, Difference):
    """A difference with its test."""


class Change(Corrected, Difference):
    """A comparison as the second arm minus the first."""


class PairedTable(TestedDifference, Replicates):
    """The 2 x 2 table of an outcome in two arms, the paired difference, and its tests.

    Arms that share no configurations have no table: their fractions are compared as independent ones.
    """

    pairs: int
    effective: float
    both: int | None
    only_first: int | None
    only_second: int | None
    neither: int | None
    p_exact: float | None


class PairedComparison(PairedTable, Corrected):
    """The comparison of two arms by an outcome, judged at one epoch."""

    arms: list[str]
    outcome: JudgedOutcome
    epoch: Summary


class ScoreComparison(Corrected):
    """The comparison of two arms by their scores at one epoch."""

    arms: list[str]
    epoch: Summary
    first_wins: Share
    second_wins: Share
    ties: Share
    mean_difference: float | None
    median_difference: float | None
    p_wilcoxon: float | None
    p_permutation: NotRequired[float | None]
    """Of arms that share no configurations, in place of Wilcoxon's test of pairs."""
