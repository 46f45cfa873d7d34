"""Two arms that share no configurations: fractions and scores of independent samples, each with its test.

The difference of two fractions has Newcombe's interval (1998, method 10). With Wilson's intervals (l1, u1) and (l2, u2)
of the fractions at z,

    low = d - sqrt((p1 - l1)^2 + (u2 - p2)^2),    high = d + sqrt((u1 - p1)^2 + (p2 - l2)^2),    d = p1 - p2.

The test that belongs to it is the one it inverts: p = 2 Phi(-z), z that at which an end of the interval reaches 0, so
the interval leaves out 0 exactly when p < 0.05. Replicates count as many trials as they are worth (`clusters`).

A mean difference of scores, over configurations, has Welch's interval and test; beside it stands the permutation test
of the mean difference, which assumes no distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from robustness.statistics.clusters import configuration_means, effective_number
from robustness.statistics.means import SMALLEST
from robustness.statistics.proportions import LEVEL, NO_OBSERVATIONS, Interval, agreeing, wilson

METHOD = "Welch"
PERMUTATIONS = 20_000
"""Random exchanges of the permutation test where all of them are too many."""
MOST_EXACT = 20_000
"""Up to this many exchanges are all tried."""


@dataclass(frozen=True)
class IndependentTest:
    """The difference of two independent samples, first minus second, with its interval and test."""

    difference: float
    interval: Interval
    p_value: float | None
    effective: tuple[float, float] = (0.0, 0.0)
    """The numbers of independent values that the two samples are worth."""


def fraction_test(
    first: ArrayLike, first_owners: ArrayLike, second: ArrayLike, second_owners: ArrayLike
) -> IndependentTest | None:
    """Compare an outcome, 0 or 1, in the trials of two arms, each of its own configurations; None without trials."""
    if not len(np.asarray(first)) or not len(np.asarray(second)):
        return None
    means = [float(configuration_means(v, o).mean()) for v, o in ((first, first_owners), (second, second_owners))]
    sizes = effective_number(first, first_owners), effective_number(second, second_owners)
    interval, p_value = newcombe(means[0], sizes[0], means[1], sizes[1])
    return IndependentTest(means[0] - means[1], interval, p_value, sizes)


def newcombe(p1: float, n1: float, p2: float, n2: float, level: float = LEVEL) -> tuple[Interval, float]:
    """Newcombe's interval of p1 - p2, and the p-value of the test that it inverts; the numbers need not be integers."""
    if n1 <= 0 or n2 <= 0:
        return NO_OBSERVATIONS, 1.0
    difference = p1 - p2
    low, high = _limits(p1, n1, p2, n2, float(ndtri((1 + level) / 2)))
    p_value = _newcombe_p(p1, n1, p2, n2)
    return agreeing(Interval(low, high, "Newcombe"), difference, p_value, level), p_value


def _limits(p1: float, n1: float, p2: float, n2: float, z: float) -> tuple[float, float]:
    level = 2 * float(ndtr(z)) - 1
    first, second = wilson(p1, n1, level), wilson(p2, n2, level)
    difference = p1 - p2
    low = difference - math.hypot(p1 - first.low, second.high - p2)
    return max(-1.0, low), min(1.0, difference + math.hypot(first.high - p1, p2 - second.low))


def _newcombe_p(p1: float, n1: float, p2: float, n2: float) -> float:
    difference = p1 - p2
    if difference == 0:
        return 1.0
    if difference < 0:
        p1, n1, p2, n2 = p2, n2, p1, n1
    if _limits(p1, n1, p2, n2, 8.0)[0] > 0:
        return 2 * float(ndtr(-8.0))
    z = brentq(lambda z: _limits(p1, n1, p2, n2, z)[0], 1e-9, 8.0, xtol=1e-13)
    return min(1.0, 2 * float(ndtr(-z)))


def score_test(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> IndependentTest | None:
    """Compare the mean scores of the configurations of two arms, [n1] and [n2], by Welch's test; None without any.

    There is neither interval nor p-value for fewer than two configurations of an arm, or where none of them varies.
    """
    a, b = (np.asarray(values, dtype=float) for values in (first, second))
    if not len(a) or not len(b):
        return None
    difference = float(a.mean() - b.mean())
    sizes = float(len(a)), float(len(b))
    if min(len(a), len(b)) < 2:
        return IndependentTest(difference, Interval.none("a single configuration"), None, sizes)
    errors = [float(values.var(ddof=1)) / len(values) for values in (a, b)]
    if sum(errors) <= max(SMALLEST, 1e-12 * float(np.abs(a).max()), 1e-12 * float(np.abs(b).max())) ** 2:
        return IndependentTest(difference, Interval.none("all configurations are equal"), None, sizes)
    error = math.sqrt(sum(errors))
    freedom = sum(errors) ** 2 / sum(e * e / (len(values) - 1) for e, values in zip(errors, (a, b), strict=True))
    p_value = min(1.0, 2 * float(stdtr(freedom, -abs(difference) / error)))
    half = float(stdtrit(freedom, (1 + level) / 2)) * error
    interval = Interval(difference - half, difference + half, METHOD)
    return IndependentTest(difference, agreeing(interval, difference, p_value, level), p_value, sizes)


def permutation_p(first: ArrayLike, second: ArrayLike, seed: int = 0) -> float | None:
    """p-value of the two-sided permutation test of the mean difference of [n1] and [n2] configurations.

    P(|mean difference| of a random exchange >= the observed one): over all exchanges where they are few, else over
    20,000 random ones, the observed one included.
    """
    a, b = (np.asarray(values, dtype=float) for values in (first, second))
    if not len(a) or not len(b):
        return None
    pooled: NDArray[np.float64] = np.concatenate([a, b])
    total, n1, n2 = float(pooled.sum()), len(a), len(b)
    observed = abs(float(a.mean() - b.mean()))
    tolerance = 1e-12 * max(float(np.abs(pooled).max()), 1e-300)
    if math.comb(n1 + n2, n1) <= MOST_EXACT:
        sums = _subset_sums(pooled, n1)
        chosen, offset = sums, 0
    else:
        rng = np.random.default_rng(seed)
        step = max(1, 2_000_000 // len(pooled))
        parts = []
        for start in range(0, PERMUTATIONS - 1, step):
            rows = min(step, PERMUTATIONS - 1 - start)
            order = rng.random((rows, len(pooled))).argpartition(n1 - 1, axis=1)[:, :n1]
            parts.append(pooled[order].sum(axis=1))
        chosen, offset = np.concatenate(parts), 1
    differences = np.abs(chosen / n1 - (total - chosen) / n2)
    return float(((differences >= observed - tolerance).sum() + offset) / (len(differences) + offset))


def _subset_sums(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The sums of all subsets of this size."""
    by_size = [np.zeros(1)] + [np.zeros(0)] * size
    for value in values:
        for count in range(size, 0, -1):
            by_size[count] = np.concatenate([by_size[count], by_size[count - 1] + value])
    return by_size[size]
