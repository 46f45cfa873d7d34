"""Student's interval of a statistic from its values without each configuration in turn (Tukey 1958).

With T the statistic of all n configurations and T_(i) that without configuration i, on a scale g on which its
distribution is closer to normal, the pseudo-values are n g(T) - (n - 1) g(T_(i)), and their standard error

    s^2 = (n - 1) / n sum_i (g(T_(i)) - mean g(T_(.)))^2

is on average not too small (Efron and Stein 1981). Its degrees of freedom are Satterthwaite's: with
h_i = g(T_(i)) - mean, 2 / (sum h_i^4 / (sum h_i^2)^2 - 1 / n), at most n - 1, so that an error that rests on a few
configurations is not taken for known.

A mean or an expected best score, which has no such scale, has Student's interval widened for skewness as that of a mean
(`means`), with the skewness of the pseudo-values. Where the estimate is less another one, with the squared error v and
its own degrees of freedom, s^2 + v takes the place of s^2, with Satterthwaite's degrees of freedom of the sum.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from robustness.statistics.means import hall_inverse
from robustness.statistics.proportions import LEVEL, Interval

Floats: TypeAlias = NDArray[np.float64]
METHOD = "jackknife"
MOST_SINGLE, PARTS = 500, 200


def satterthwaite(influence: Floats) -> float:
    """The degrees of freedom above for values h_i [n] about zero."""
    n, squares = len(influence), influence**2
    excess = float((squares**2).sum()) / float(squares.sum()) ** 2 - 1 / n
    return n - 1.0 if excess <= 0 else max(1.0, min(n - 1.0, 2 / excess))


def without_each(n: int) -> Floats:
    """Weights [parts, n] of the samples without one part of n configurations each.

    A part is a configuration; from 501 on there are 200 parts, since n x n weights would not fit into memory.
    """
    parts = n if n <= MOST_SINGLE else PARTS
    weights: Floats = (np.arange(n) % parts != np.arange(parts)[:, None]).astype(np.float64)
    return weights


def jackknife_interval(whole: float, without: Floats, scale: Literal["identity", "logit"]) -> Interval | None:
    """The interval of a statistic from its values `without` [n] each configuration.

    None where the scale does not exist, as that of a share of 0 or 1; then another method is called for.
    """
    if scale == "logit":
        if not 0 < whole < 1 or without.min() <= 0 or without.max() >= 1:
            return None
        whole, without = float(logit(whole)), logit(without)
    n = len(without)
    influence = without - without.mean()
    error = math.sqrt((n - 1) / n * float((influence**2).sum()))
    if error <= 1e-12 * max(1.0, abs(whole)):
        return None
    half = float(stdtrit(satterthwaite(influence), (1 + LEVEL) / 2)) * error
    ends = np.array([whole - half, whole + half])
    low, high = (expit(ends) if scale == "logit" else ends).tolist()
    return Interval(low, high, METHOD)


def widened_ends(
    whole: float, without: Floats, other: float = 0.0, freedom: float = math.inf
) -> tuple[float, float] | None:
    """The ends of the interval widened for skewness, from the values `without` [n] each configuration.

    `other` is the squared error v above, with its `freedom`. None if the values do not vary.
    """
    n = len(without)
    influence = without - without.mean()
    own = (n - 1) / n * float((influence**2).sum())
    if own <= 1e-24 * max(1.0, whole**2):
        return None
    together = (own + other) ** 2 / (own**2 / satterthwaite(influence) + other**2 / freedom)
    limit, error = float(stdtrit(together, (1 + LEVEL) / 2)), math.sqrt(own + other)
    # The pseudo-values n T - (n - 1) T_(i) have the skewness of -influence.
    skewness = -float((influence**3).mean()) / float(influence.std(ddof=1)) ** 3
    high, low = (hall_inverse(sign * limit, skewness, n) for sign in (1.0, -1.0))
    return whole - max(limit, high) * error, whole - min(-limit, low) * error
