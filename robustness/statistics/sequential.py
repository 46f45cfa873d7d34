r"""Evidence that may be inspected after every configuration: bets against a mean, and confidence sequences from them.

For values x_1, x_2, ... in [-1, 1] and the hypothesis E[x_i | past] = m, the capital of a gambler who stakes the share
l of it on "above m" each time, and that of one who stakes it on "below m", are

    up_l(t)   = prod_{i <= t} (1 + l (x_i - m) / (1 + m))
    down_l(t) = prod_{i <= t} (1 + l (m - x_i) / (1 - m)),       0 < l < 1

Both are nonnegative martingales that start at 1, and so is every weighted mean of them. The e-process is

    e_m(t) = sum_k w_k (up_{l_k}(t) + down_{l_k}(t)) / 2

By Ville's inequality it ever reaches 1 / a with probability at most a, however often it is looked at and whenever one
stops: p = 1 / max_t e_m(t) is anytime-valid (Waudby-Smith and Ramdas 2024). Nothing else is assumed about the values:
they may be skewed, or means of dependent replicates. The confidence sequence contains every m with p >= a. e_m is
convex in m, so this is an interval, and it leaves out m = 0 exactly when p < a.

Differences of paired outcomes are -1, 0 or 1. Then e_0 is a mixture of likelihood ratios of the signs of discordant
pairs, with probabilities (1 + l_k) / 2 under the alternative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from robustness.statistics.proportions import LEVEL, NO_OBSERVATIONS, Interval

SHARES = np.array([0.998, 0.56, 0.28, 0.14, 0.07, 0.035, 0.0175])
"""The stakes l_k. The first two decide large differences early; the others, small ones in large studies."""
WEIGHTS = np.array([0.2, 0.77, 0.015, 0.0075, 0.00375, 0.001875, 0.001875])
"""The weights w_k, which sum to 1."""
METHOD = "confidence sequence"
DRAWS = 1000
"""Simulated continuations for the predictive probability."""
_LARGEST = 600.0
"""The logarithm at which capital is capped, so that sums of it stay finite."""
_EDGE = 1e-9
_CELLS = 2_000_000
"""Numbers that a simulation holds at a time."""


def capital(values: ArrayLike, mean: float = 0.0) -> NDArray[np.float64]:
    """The e-process against `mean` after each of the values [..., n] in [-1, 1], along the last axis."""
    return _total(np.cumsum(_log_factors(np.asarray(values, dtype=float), mean), axis=-1))


def one_sided_capital(values: ArrayLike, mean: float, side: Literal["up", "down"]) -> NDArray[np.float64]:
    """The e-process of means up to `mean` (bets `up`) or from it on (`down`) after each of the values [..., n].

    It is the mixture of up_l or of down_l alone, a supermartingale wherever the mean is on the side bet against.
    """
    logs = np.cumsum(_log_factors(np.asarray(values, dtype=float), mean), axis=-1)[0 if side == "up" else 1]
    return _total(np.stack([logs, logs]))


class Bets:
    """The capital of several e-processes against zero, one value of each at a time."""

    def __init__(self, processes: int) -> None:
        self._logs: NDArray[np.float64] = np.zeros((2, len(SHARES), processes))

    def add(self, values: ArrayLike) -> NDArray[np.float64]:
        """Bet on the next values [processes] and return each capital; a value of 0 leaves it as it is."""
        self._logs += _log_factors(np.asarray(values, dtype=float), 0.0)
        return _total(self._logs)


def anytime_p(e_process: ArrayLike) -> float:
    """The anytime-valid p-value min(1, 1 / max_t e(t)) of an e-process [n]."""
    path: NDArray[np.float64] = np.asarray(e_process, dtype=float)
    return float(1 / max(1.0, path.max(initial=1.0)))


def confidence_sequence(
    values: ArrayLike,
    lowest: float = -1.0,
    highest: float = 1.0,
    looks: ArrayLike | None = None,
    level: float = LEVEL,
) -> Interval:
    """The running intersection of the confidence sequence of the mean of values [n] in [lowest, highest].

    `looks` [n] marks the values after which one may look; by default all. For differences it leaves out 0 exactly when
    `anytime_p` of their capital is below 1 - level. Should no mean be left, it shrinks to the one least contradicted.
    """
    sample: NDArray[np.float64] = np.asarray(values, dtype=float)
    if len(sample) == 0:
        return NO_OBSERVATIONS
    middle, half = (lowest + highest) / 2, (highest - lowest) / 2
    scaled = np.clip((sample - middle) / half, -1.0, 1.0)
    seen = np.ones(len(scaled), dtype=bool) if looks is None else np.asarray(looks, dtype=bool)
    limit = -math.log(1 - level)

    def excess(mean: float) -> float:
        """Above 0 where the mean is left out."""
        path = capital(scaled, mean)[seen]
        return math.log(max(1.0, float(path.max(initial=1.0)))) - limit

    low, high = _sublevel(excess, float(scaled.mean()))
    zero = -middle / half
    if -1 < zero < 1:
        # The decision about zero must not hang on the last digit of a root.
        if excess(zero) <= 0:
            low, high = min(low, zero), max(high, zero)
        elif low <= zero <= high:
            low, high = (np.nextafter(zero, 1), high) if high - zero > zero - low else (low, np.nextafter(zero, -1))
    return Interval(float(middle + half * low), float(middle + half * high), METHOD)


def closed(e_processes: ArrayLike) -> NDArray[np.float64]:
    """The e-processes [comparisons, n] of one family, each corrected for the others by closed testing.

    The mean of e-values is an e-value of the intersection of their hypotheses (Vovk and Wang 2021). A comparison is
    rejected if every intersection that contains it is, so its corrected value is the least mean over all sets of
    comparisons that include it: (e_j + the k smallest others) / (k + 1), at the best k. The probability that any true
    hypothesis ever reaches 1 / a is at most a.
    """
    paths: NDArray[np.float64] = np.asarray(e_processes, dtype=float)
    ascending = np.sort(paths, axis=0)
    # Comparisons above e_j raise the mean, and e_j itself among the smallest leaves the least mean as it is.
    below = np.concatenate([np.zeros_like(paths[:1]), np.cumsum(ascending, axis=0)[:-1]])
    sizes = np.arange(1, len(paths) + 1).reshape(-1, *[1] * (paths.ndim - 1))
    return np.stack([np.min((path + below) / sizes, axis=0) for path in paths])


def chance_of_decision(values: ArrayLike, remaining: int, level: float, seed: int = 0) -> float:
    """The predictive probability that `remaining` further differences bring the e-process above 1 / level.

    The distribution of differences is drawn from its posterior, Dirichlet with one count for each of the values [n]
    and half a count each for -1, 0 and 1, so that rates from a few values are not taken for known.
    """
    observed: NDArray[np.float64] = np.asarray(values, dtype=float)
    if remaining == 0:
        return 0.0
    support, counts = np.unique(np.concatenate([observed, [-1.0, 0.0, 1.0]]), return_counts=True)
    counts = counts - np.where(np.isin(support, (-1.0, 0.0, 1.0)), 0.5, 0.0)
    rng = np.random.default_rng(seed)
    start = _log_factors(observed, 0.0).sum(axis=-1)[..., None, None]
    factors = _log_factors(support, 0.0)
    limits = np.cumsum(rng.dirichlet(counts, size=DRAWS), axis=-1)
    size = max(1, _CELLS // (remaining * max(len(support), factors.shape[0] * factors.shape[1])))
    reached = 0
    for first in range(0, DRAWS, size):
        below = limits[first : first + size, None, :-1]
        drawn = (rng.random((len(below), remaining, 1)) > below).sum(axis=-1)
        path = _total(start + np.cumsum(factors[..., drawn], axis=-1))
        reached += int((path.max(axis=-1) > 1 / level).sum())
    return reached / DRAWS


def _log_factors(values: NDArray[np.float64], mean: float) -> NDArray[np.float64]:
    """The logarithm of each bet's factor: [2, bets] and the shape of the values; up first, then down."""
    shares = SHARES.reshape(-1, *[1] * values.ndim)
    up = np.log1p(shares * ((values - mean) / (1 + mean)))
    down = np.log1p(shares * ((mean - values) / (1 - mean)))
    return np.stack([up, down])


def _total(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted mean of the capital of all bets, from logarithms [2, bets, ...]."""
    weights = WEIGHTS.reshape(1, -1, *[1] * (logs.ndim - 2)) / 2
    total: NDArray[np.float64] = (weights * np.exp(np.minimum(logs, _LARGEST))).sum(axis=(0, 1))
    return total


def _sublevel(excess: Callable[[float], float], inside: float) -> tuple[float, float]:
    """The ends of {m in [-1, 1]: excess(m) <= 0}, an interval; its best point twice if it is empty."""
    inside = float(np.clip(inside, -1 + _EDGE, 1 - _EDGE))
    if excess(inside) > 0:
        found = minimize_scalar(excess, bounds=(-1 + _EDGE, 1 - _EDGE), method="bounded", options={"xatol": 1e-10})
        inside = float(found.x)
        if excess(inside) > 0:
            return inside, inside
    ends = []
    for edge in (-1.0, 1.0):
        near = edge * (1 - _EDGE)
        ends.append(edge if excess(near) <= 0 else float(brentq(excess, near, inside, xtol=1e-10)))
    return ends[0], ends[1]
