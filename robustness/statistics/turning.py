"""Where a series turns for good: the end of its highest (or lowest) level, after which it has significantly left it.

For a series y over epochs that may turn down (one that may turn up is taken with the other sign):

    s       y smoothed by a running mean over w values, w about a tenth of the series and odd; shorter at the ends
    noise   1.4826 x the median of |y_i - y_(i-1)| / sqrt(2): the spread of one value about its neighbours
    fall    max s - the mean of the last w values, in units of noise sqrt(2 / w)

The series has turned if the fall is at least `LEAST_FALL` and what follows the maximum has a falling trend (Mann and
Kendall's test, one-sided, p < `TREND_LEVEL`). The turn is the last epoch at which s is within 4 noise sqrt(1 / w) of
its maximum: a plateau ends where it is left, not at its highest point by chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

LEAST_FALL = 5.0
"""A series that only fluctuates falls by less than this from its own maximum in 99 of 100 cases."""
TREND_LEVEL = 0.01
WITHIN = 4.0
"""The best of many smoothed values is above their level by chance: so many standard errors below it is no fall yet."""
LEAST_VALUES = 10
"""Shorter series say nothing."""


@dataclass(frozen=True)
class Turn:
    """Where a series turned, and from which level to which."""

    epoch: float
    """The last epoch at its best level."""
    best: float
    """The smoothed series at its best."""
    end: float
    """The mean of its last values."""
    fall: float
    """How far it fell (or rose), in standard errors."""
    p_value: float
    """Of the trend after the best value."""


def turning_point(epochs: ArrayLike, values: ArrayLike, up: bool = False) -> Turn | None:
    """The point at which values [n] over epochs [n] turn down for good, or up; None if they do not."""
    x, y = np.asarray(epochs, dtype=float), np.asarray(values, dtype=float)
    finite = np.isfinite(y)
    x, y = x[finite], (-y if up else y)[finite]
    n = len(y)
    if n < LEAST_VALUES:
        return None
    width = smoothing_width(n)
    level = smoothed(y, width)
    noise = neighbour_noise(y)
    # Two equal series of rounded values have no noise at all; any fall is then one.
    unit = max(noise, 1e-12 * max(1.0, float(np.abs(y).max())))
    best = int(level.argmax())
    end = float(y[-width:].mean())
    fall = (float(level[best]) - end) / (unit * math.sqrt(2 / width))
    if fall < LEAST_FALL or n - best < 4:
        return None
    trend = stats.kendalltau(np.arange(n - best), y[best:], alternative="less")
    if not trend.pvalue < TREND_LEVEL:
        return None
    at_best = np.flatnonzero(level >= level[best] - WITHIN * unit / math.sqrt(width))
    sign = -1.0 if up else 1.0
    return Turn(float(x[at_best[-1]]), sign * float(level[best]), sign * end, fall, float(trend.pvalue))


def smoothing_width(n: int) -> int:
    """About a tenth of the values, odd, at least three."""
    return max(3, 2 * (n // 20) + 1)


def smoothed(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The running mean over `width` values around each; at the ends over as many as there are on both sides."""
    half = width // 2
    total = np.concatenate([[0.0], np.cumsum(values)])
    place = np.arange(len(values))
    reach = np.minimum(half, np.minimum(place, len(values) - 1 - place))
    found: NDArray[np.float64] = (total[place + reach + 1] - total[place - reach]) / (2 * reach + 1)
    return found


def neighbour_noise(values: NDArray[np.float64]) -> float:
    """The standard deviation of single values about a slowly changing level, from differences of neighbours."""
    return float(1.4826 * np.median(np.abs(np.diff(values))) / math.sqrt(2))
