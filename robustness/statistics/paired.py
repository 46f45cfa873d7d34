"""Two arms on the same configurations: tables, differences and tests that keep pairs together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.optimize import brentq

from robustness.statistics.proportions import (
    LEVEL,
    NOTHING_KNOWN,
    WHOLE_SPACE,
    Interval,
    effective_number,
    mean_interval,
)

MONTE_CARLO = 100_000


@dataclass(frozen=True)
class Table:
    """The 2 x 2 table of an outcome in pairs."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @staticmethod
    def of(first: ArrayLike, second: ArrayLike) -> Table:
        """The table of two boolean arrays [pairs]."""
        a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
        return Table(int((a & b).sum()), int((a & ~b).sum()), int((~a & b).sum()), int((~a & ~b).sum()))

    @property
    def pairs(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided McNemar test: min(1, 2 P(Binomial(b + c, 1/2) <= min(b, c))); 1 if no pair is discordant."""
    discordant = only_first + only_second
    if discordant == 0:
        return 1.0
    return float(min(1.0, 2 * stats.binom.cdf(min(only_first, only_second), discordant, 0.5)))


def worst_mcnemar(first: int, second: int, pairs: int) -> float:
    """The largest p-value of any table in which so many of the pairs have the outcome in each arm."""
    overlaps = range(max(0, first + second - pairs), min(first, second) + 1)
    return max(mcnemar(first - both, second - both) for both in overlaps)


def paired_difference(table: Table, population: int | None = None, level: float = LEVEL) -> Interval:
    """Tango's score interval of the difference of two paired fractions, first minus second.

    For each difference d the score is (b - c - n d) / sqrt(n (2 q + d (1 - d))), with q the most likely share of pairs
    in which only the second has the outcome, given d; the interval has every d whose score is within +- z. The counts
    of a finite space are scaled up as in `proportions`.
    """
    n = table.pairs
    if n == 0:
        return NOTHING_KNOWN
    b, c = float(table.only_first), float(table.only_second)
    difference = (b - c) / n
    scale = effective_number(n, population) / n
    if math.isinf(scale):
        return Interval(difference, difference, WHOLE_SPACE)
    z = float(stats.norm.ppf((1 + level) / 2))

    def score(d: float) -> float:
        top = (b - c) - n * d
        variance = n * (2 * _likely_second(b, c, n, d) + d * (1 - d))
        if variance <= 1e-12:
            return 0.0 if abs(top) < 1e-9 else math.copysign(math.inf, top)
        return math.sqrt(scale) * top / math.sqrt(variance)

    low = -1.0 if score(-1.0) <= z else _root(lambda d: score(d) - z, -1.0, difference)
    high = 1.0 if score(1.0) >= -z else _root(lambda d: score(d) + z, difference, 1.0)
    return Interval(low, high, "Tango")


def _likely_second(b: float, c: float, n: int, d: float) -> float:
    """The most likely share of pairs in which only the second has the outcome, if the difference is d."""
    first = -b - c + (2 * n - b + c) * d
    return max(0.0, (math.sqrt(max(0.0, first * first + 8 * n * c * d * (1 - d))) - first) / (4 * n))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    def bounded(d: float) -> float:
        return float(np.clip(function(d), -1e6, 1e6))

    if bounded(low) * bounded(high) > 0:
        return low if abs(bounded(low)) < abs(bounded(high)) else high
    return float(brentq(bounded, low, high, xtol=1e-12))


def sign_flip(differences: ArrayLike, seed: int = 0) -> float:
    """The two-sided sign-flip test that differences [configurations] are as likely negative as positive.

    P(|sum of s_i d_i| >= |sum of d_i|) over all signs: exact where the differences are fractions of a small denominator
    (as shares of replicates are), else by 100,000 draws. With one replicate this is McNemar's exact test.
    """
    given: NDArray[np.float64] = np.asarray(differences, dtype=float)
    given = given[given != 0]
    if len(given) == 0:
        return 1.0
    whole = _whole(given)
    if whole is not None:
        return _exact_sign_flip(whole)
    rng = np.random.default_rng(seed)
    observed = abs(given.sum())
    reached, step = 1, max(1, 5_000_000 // len(given))
    for start in range(0, MONTE_CARLO, step):
        signs = rng.choice([-1.0, 1.0], size=(min(step, MONTE_CARLO - start), len(given)))
        reached += int((np.abs(signs @ given) >= observed - 1e-12).sum())
    return reached / (MONTE_CARLO + 1)


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """The values times the smallest number up to 840 that makes all of them whole; None if there is none."""
    for factor in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 24, 30, 60, 120, 420, 840):
        scaled = values * factor
        if np.abs(scaled - scaled.round()).max() < 1e-9 and np.abs(scaled).sum() <= 1_000_000:
            return scaled.round().astype(np.int64)
    return None


def _exact_sign_flip(values: NDArray[np.int64]) -> float:
    """By the distribution of the sum, built up one sign at a time."""
    sizes = np.abs(values)
    total = int(sizes.sum())
    chances = np.zeros(2 * total + 1)
    chances[total] = 1.0
    reach = 0
    for size in np.sort(sizes):
        reach += int(size)
        inner = slice(total - reach, total + reach + 1)
        moved = np.zeros(2 * reach + 1)
        before = chances[inner]
        moved[: len(moved) - size] += before[size:] / 2
        moved[size:] += before[: len(moved) - size] / 2
        chances[inner] = moved
    observed = abs(int(values.sum()))
    sums = np.arange(-total, total + 1)
    return float(min(1.0, chances[np.abs(sums) >= observed].sum()))


def replicated_difference(differences: ArrayLike, population: int | None = None) -> Interval:
    """The cluster bootstrap interval of the mean of one difference for each configuration.

    Where all configurations agree a bootstrap would claim to be certain: then it is the interval of as many pairs.
    """
    given: NDArray[np.float64] = np.asarray(differences, dtype=float)
    n = len(given)
    for same, table in ((0, Table(0, 0, 0, n)), (1, Table(0, n, 0, 0)), (-1, Table(0, 0, n, 0))):
        if n and np.all(given == same):
            return paired_difference(table, population)
    return mean_interval(given, population)


def wilcoxon(differences: ArrayLike) -> float:
    """The signed-rank test of differences [n]: exact up to 50 without ties, zeros left out; 1 if all are zero."""
    given: NDArray[np.float64] = np.asarray(differences, dtype=float)
    given = given[given != 0]
    if len(given) == 0:
        return 1.0
    return float(stats.wilcoxon(given, zero_method="wilcox", method="auto", correction=False).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: in rising order, max so far of (m - i) p_(i), at most 1."""
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted
