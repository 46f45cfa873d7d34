"""A mean with its standard error, or with an interval and the test that belongs to it.

The interval is Student's, widened by his interval corrected for skewness: with T = sqrt(n) (mean - mu) / s and the
sample's skewness g, both T and Hall's transform of it (Hall 1992),

    G(T) = T + g T^2 / (3 sqrt(n)) + g^2 T^3 / (27 n) + g / (6 sqrt(n)),

are compared with Student's t with n - 1 degrees of freedom. A mean mu is rejected if both reject it: the p-value is the
larger of the two, and the interval spans both. Student's alone covers too rarely where a few differences are far from
the rest, as where a fifth of the trials fail; the corrected one alone covers too rarely under heavy symmetric tails
(`benchmarks/intervals.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from robustness.statistics.proportions import LEVEL, NO_OBSERVATIONS, Interval, agreeing

METHOD = "Student, widened for skewness"
SMALLEST = 1e-60
"""Values that differ by less count as equal: the third and fourth powers of smaller differences would be 0."""
FEW = 12
"""With fewer values, those in two separate groups have no interval."""
SEPARATE = 2 / 3
"""Values are in two separate groups if one gap takes up more than this share of their range."""


@dataclass(frozen=True)
class MeanTest:
    """The interval of a mean, and the p-value of the hypothesis that it is 0; None where neither can be computed."""

    interval: Interval
    p_value: float | None


class MeanWithError(TypedDict):
    """A mean and its standard error, None for a single value."""

    mean: float
    standard_error: float | None


def mean_with_error(values: ArrayLike) -> MeanWithError:
    """Return the `mean` of values [n] and its `standard_error` s / sqrt(n), s unbiased; None for a single value."""
    sample = np.asarray(values, dtype=float)
    error = float(np.std(sample, ddof=1) / math.sqrt(len(sample))) if len(sample) > 1 else None
    return {"mean": float(sample.mean()), "standard_error": error}


def mean_test(values: ArrayLike, level: float = LEVEL) -> MeanTest:
    """Return the interval above for the mean of values [n] and the p-value of mean 0: below 1 - level if it lacks 0.

    There is none for fewer than two values, for equal ones (if all are 0, the p-value is 1), and for fewer than 12 in
    two separate groups: how large a share of all values each group has is then next to unknown.
    """
    sample: NDArray[np.float64] = np.asarray(values, dtype=float)
    n = len(sample)
    if n < 2:
        return MeanTest(Interval.none("a single configuration") if n else NO_OBSERVATIONS, None)
    gaps = np.diff(np.sort(sample))
    mean, spread = float(sample.mean()), float(sample.std(ddof=1))
    if gaps.sum() <= max(SMALLEST, 1e-12 * float(np.abs(sample).max())):
        return MeanTest(Interval.none("all configurations are equal"), 1.0 if not sample.any() else None)
    if n < FEW and gaps.max() > SEPARATE * gaps.sum():
        return MeanTest(Interval.none(f"fewer than {FEW} configurations, in two separate groups"), None)
    error = spread / math.sqrt(n)
    skewness = float(((sample - mean) ** 3).mean()) / spread**3
    t = mean / error
    statistic = min(abs(t), abs(_transformed(t, skewness, n)))
    p_value = min(1.0, 2 * float(stdtr(n - 1, -statistic)))
    limit = float(stdtrit(n - 1, (1 + level) / 2))
    highest = max(limit, hall_inverse(limit, skewness, n))
    lowest = min(-limit, hall_inverse(-limit, skewness, n))
    interval = Interval(mean - highest * error, mean - lowest * error, METHOD)
    return MeanTest(agreeing(interval, mean, p_value, level), p_value)


def one_sided_p(values: ArrayLike, alternative: Literal["greater", "less"]) -> float:
    """Return the p-value of the same test of mean 0 against a `greater` or a `less` one: both T and G(T) must reject.

    It is below a exactly if the interval at level 1 - 2 a lies beyond 0; only for values that have an interval.
    """
    sample: NDArray[np.float64] = np.asarray(values, dtype=float)
    n, mean, spread = len(sample), float(sample.mean()), float(sample.std(ddof=1))
    skewness = float(((sample - mean) ** 3).mean()) / spread**3
    t = mean / (spread / math.sqrt(n))
    both = (t, _transformed(t, skewness, n))
    statistic = min(both) if alternative == "greater" else -max(both)
    return float(stdtr(n - 1, -statistic))


def _transformed(t: float, skewness: float, n: int) -> float:
    """G(T) above."""
    a = skewness / math.sqrt(n)
    return t + a * t * t / 3 + a * a * t**3 / 27 + a / 6


def hall_inverse(g: float, skewness: float, n: int) -> float:
    """The T with G(T) = g: G(T) = ((1 + a T / 3)^3 - 1) / a + a / 6 for a = skewness / sqrt(n)."""
    a = skewness / math.sqrt(n)
    if abs(a) < 1e-9:
        return g
    return 3 * (math.cbrt(1 + a * (g - a / 6)) - 1) / a
