"""Paired comparison of two arms on the same configurations: tables, differences and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from robustness.statistics.clusters import configuration_means, discordance
from robustness.statistics.proportions import Interval
from robustness.statistics.score_test import score_interval, score_p

MONTE_CARLO = 100_000
"""Random sign assignments where the sign-flip test cannot be exact."""


@dataclass(frozen=True)
class Table:
    """2 x 2 table of a paired binary outcome."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @staticmethod
    def of(first: ArrayLike, second: ArrayLike) -> Table:
        """Cross-tabulate two boolean arrays [pairs]."""
        a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
        return Table(int((a & b).sum()), int((a & ~b).sum()), int((~a & b).sum()), int((~a & ~b).sum()))

    @property
    def pairs(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither


def mcnemar(only_first: int, only_second: int) -> float:
    """p-value of the exact two-sided McNemar test, min(1, 2 P(Binomial(b + c, 1/2) <= min(b, c))); 1 if b + c = 0."""
    discordant = only_first + only_second
    if discordant == 0:
        return 1.0
    return float(min(1.0, 2 * stats.binom.cdf(min(only_first, only_second), discordant, 0.5)))


def worst_mcnemar(first: int, second: int, pairs: int) -> float:
    """Largest p-value of any table with these margins: `first` and `second` of the pairs have the outcome."""
    overlaps = range(max(0, first + second - pairs), min(first, second) + 1)
    return max(mcnemar(first - both, second - both) for both in overlaps)


@dataclass(frozen=True)
class PairedTest:
    """The difference of two paired fractions, first minus second, with its interval and tests."""

    difference: float
    interval: Interval
    p_value: float
    """Of the score test that the interval inverts."""
    differences: NDArray[np.float64]
    """Those of the configurations, whose mean it is."""
    effective: float
    """The number of independent pairs that these are worth."""

    @property
    def p_exact(self) -> float:
        """Of the sign-flip test over configurations; with one pair for each, that is McNemar's exact test.

        Computed when it is asked for, since it takes longer than all the rest together.
        """
        return sign_flip(self.differences)


def paired_test(first: ArrayLike, second: ArrayLike, owners: ArrayLike) -> PairedTest:
    """Compare an outcome, 0 or 1, of two arms in pairs [p] of the configurations `owners` [p].

    The unit is the configuration: the difference is the mean over configurations, and Tango's interval and test take
    the shares of discordant pairs for those of the effective number of pairs (`clusters`). Needs at least one pair.
    """
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    differences = configuration_means(a.astype(float) - b.astype(float), owners)
    counts = discordance(a, b, owners)
    return PairedTest(float(differences.mean()), score_interval(*counts), score_p(*counts), differences, counts[2])


def sign_flip(differences: ArrayLike, seed: int = 0) -> float:
    """p-value of the two-sided sign-flip test that differences [configurations] are symmetric about zero.

    P(|sum of s_i d_i| >= |sum of d_i|) over all signs s: exact if the differences are fractions with a small common
    denominator (as shares of replicates are), else from 100,000 random sign assignments. With one replicate this is
    McNemar's exact test.
    """
    nonzero: NDArray[np.float64] = np.asarray(differences, dtype=float)
    nonzero = nonzero[nonzero != 0]
    if len(nonzero) == 0:
        return 1.0
    integers = _as_integers(nonzero)
    if integers is not None:
        return _exact_sign_flip(integers)
    rng = np.random.default_rng(seed)
    observed = abs(nonzero.sum())
    extreme, step = 1, max(1, 5_000_000 // len(nonzero))
    for start in range(0, MONTE_CARLO, step):
        signs = rng.choice([-1.0, 1.0], size=(min(step, MONTE_CARLO - start), len(nonzero)))
        extreme += int((np.abs(signs @ nonzero) >= observed - 1e-12).sum())
    return extreme / (MONTE_CARLO + 1)


def _as_integers(values: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """The values scaled to integers by the smallest of these factors that makes them so; None if none does."""
    for factor in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 24, 30, 60, 120, 420, 840):
        scaled = values * factor
        if np.abs(scaled - scaled.round()).max() < 1e-9 and np.abs(scaled).sum() <= 1_000_000:
            return scaled.round().astype(np.int64)
    return None


def _exact_sign_flip(values: NDArray[np.int64]) -> float:
    """Exact p-value from the distribution of the sum, convolving one sign at a time."""
    sizes = np.abs(values)
    total = int(sizes.sum())
    # A sum and the total are both even or both odd: `every_other[k]` is the probability of 2 k - total.
    every_other = np.zeros(total + 1)
    every_other[0] = 1.0
    reach = 0
    for size in np.sort(sizes).tolist():
        before = every_other[: reach + 1] / 2
        reach += size
        every_other[: reach + 1 - size] = before
        every_other[size : reach + 1] += before
    observed = abs(int(values.sum()))
    sums = np.arange(-total, total + 1)
    distribution = np.zeros(len(sums))
    distribution[::2] = every_other
    return float(min(1.0, distribution[np.abs(sums) >= observed].sum()))


def wilcoxon(differences: ArrayLike) -> float:
    """p-value of the signed-rank test of differences [n], zeros dropped; exact up to 50 without ties, 1 if all zero."""
    nonzero: NDArray[np.float64] = np.asarray(differences, dtype=float)
    nonzero = nonzero[nonzero != 0]
    if len(nonzero) == 0:
        return 1.0
    return float(stats.wilcoxon(nonzero, zero_method="wilcox", method="auto", correction=False).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm-adjusted p-values: in ascending order, the running maximum of (m - i) p_(i), capped at 1."""
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted
