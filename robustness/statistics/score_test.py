"""The score test of a paired difference of proportions, and the interval that inverts it (Tango 1998).

Of n pairs, b have the outcome in the first arm only and c in the second only. The score of a difference d is

    z(d) = (b - c - n d) / sqrt(n (2 q + d (1 - d))),
    q = (sqrt(e^2 + 8 n c d (1 - d)) - e) / (4 n),    e = (2 n - b + c) d - b - c,

where q is the maximum-likelihood share of pairs of the second kind given d. At d = 0 it is McNemar's statistic
(b - c) / sqrt(b + c). The p-value is that of a standard normal variable, and the interval consists of every d whose
two-sided p-value is at least 1 - level, so it leaves out 0 exactly when the test is significant. The counts need not be
integers: replicates are scaled to as many pairs as they are worth (`clusters`).
"""

from __future__ import annotations

import math
from typing import Literal

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from robustness.statistics.proportions import LEVEL, NO_OBSERVATIONS, Interval, agreeing

Alternative = Literal["two-sided", "greater", "less"]
_NOTHING = 1e-12
"""Variances and numerators below this are rounding errors of zero."""


def score_p(
    only_first: float, only_second: float, pairs: float, null: float = 0.0, alternative: Alternative = "two-sided"
) -> float:
    """Return the p-value of the hypothesis that the difference, first minus second, is `null`.

    `greater` tests against larger differences, `less` against smaller ones. It is 1 (one-sided 0.5) where the score is
    0, among others where no pair is discordant and `null` is 0.
    """
    z = score(only_first, only_second, pairs, null)
    if alternative == "two-sided":
        return min(1.0, 2 * float(ndtr(-abs(z))))
    return float(ndtr(-z if alternative == "greater" else z))


def score(only_first: float, only_second: float, pairs: float, difference: float = 0.0) -> float:
    """Return z(d) above; it falls as d rises, and is infinite where d is impossible given the counts."""
    b, c, n, d = only_first, only_second, pairs, difference
    numerator = b - c - n * d
    e = (2 * n - b + c) * d - b - c
    q = max(0.0, (math.sqrt(max(0.0, e * e + 8 * n * c * d * (1 - d))) - e) / (4 * n))
    variance = n * (2 * q + d * (1 - d))
    if variance <= _NOTHING * n:
        return 0.0 if abs(numerator) <= _NOTHING * n else math.copysign(math.inf, numerator)
    return numerator / math.sqrt(variance)


def score_interval(only_first: float, only_second: float, pairs: float, level: float = LEVEL) -> Interval:
    """Return every difference, first minus second, that the score test does not reject."""
    b, c, n = only_first, only_second, pairs
    if n <= 0:
        return NO_OBSERVATIONS
    z = float(ndtri((1 + level) / 2))
    estimate = (b - c) / n
    low = -1.0 if score(b, c, n, -1.0) <= z else _where(b, c, n, z, -1.0, estimate)
    high = 1.0 if score(b, c, n, 1.0) >= -z else _where(b, c, n, -z, estimate, 1.0)
    return agreeing(Interval(low, high, "Tango"), estimate, score_p(b, c, n), level)


def _where(b: float, c: float, n: float, level: float, low: float, high: float) -> float:
    """Return the difference between `low` and `high` whose score is `level`."""

    def excess(d: float) -> float:
        return min(max(score(b, c, n, d) - level, -1e6), 1e6)

    if excess(low) * excess(high) > 0:
        return low if abs(excess(low)) < abs(excess(high)) else high
    return float(brentq(excess, low, high, xtol=1e-14))
