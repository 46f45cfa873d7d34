"""Turning point of a series: the end of its highest (or lowest) level, from which it then departs significantly.

For a series y over epochs that may turn down (for one that may turn up, y is negated):

    s       running mean of y over w values, w odd and about a tenth of the series; fewer values near the ends
    noise   1.4826 x the median of |y_i - y_(i-1)| / sqrt(2): the spread of single values about a smooth curve
    fall    max s - the mean of the last w values, in units of noise sqrt(2 / w)

The series has turned if the fall is at least `LEAST_FALL` and the values after the maximum have a decreasing trend
(one-sided Mann-Kendall test, p < `TREND_LEVEL`). The turning point is the last epoch at which s is within
4 noise sqrt(1 / w) of its maximum: the end of a plateau rather than its highest point, which is arbitrary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

LEAST_FALL = 5.0
"""A series of pure noise falls by less than this from its maximum in 99 of 100 cases."""
TREND_LEVEL = 0.01
WITHIN = 4.0
"""Standard errors below the maximum that still count as its level: the maximum of noisy values is biased upward."""
LEAST_VALUES = 10
"""Minimum length of a series."""


@dataclass(frozen=True)
class Turn:
    """Turning point of a series, with its levels before and after."""

    epoch: float
    """Last epoch at the best level."""
    best: float
    """Best value of the smoothed series."""
    end: float
    """Mean of the last values."""
    fall: float
    """Size of the fall (or rise) in standard errors."""
    p_value: float
    """p-value of the trend after the best value."""


def turning_point(epochs: ArrayLike, values: ArrayLike, up: bool = False) -> Turn | None:
    """The point at which values [n] over epochs [n] turn down (or up) permanently; None if they do not."""
    x, y = np.asarray(epochs, dtype=float), np.asarray(values, dtype=float)
    finite = np.isfinite(y)
    x, y = x[finite], (-y if up else y)[finite]
    n = len(y)
    if n < LEAST_VALUES:
        return None
    width = smoothing_width(n)
    level = smoothed(y, width)
    unit, end, fall = (float(each[0]) for each in _falls(y[None, :], level[None, :], width))
    best = int(level.argmax())
    if fall < LEAST_FALL or n - best < 4:
        return None
    trend = stats.kendalltau(np.arange(n - best), y[best:], alternative="less")
    if not trend.pvalue < TREND_LEVEL:
        return None
    at_best = np.flatnonzero(level >= level[best] - WITHIN * unit / math.sqrt(width))
    sign = -1.0 if up else 1.0
    return Turn(float(x[at_best[-1]]), sign * float(level[best]), sign * end, fall, float(trend.pvalue))


def may_turn(values: NDArray[np.float64], up: bool = False) -> NDArray[np.bool_]:
    """Which of many series [series, n] may have a turning point: those that are not finite, or fall far enough.

    It spares a large report the examination of each single series.
    """
    y = -values if up else values
    if y.shape[1] < LEAST_VALUES:
        return np.zeros(len(y), dtype=bool)
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(y).all(axis=1))
    y, width = np.where(finite[:, None], y, 0.0), smoothing_width(y.shape[1])
    _, _, fall = _falls(y, smoothed(y, width), width)
    return ~finite | (fall >= LEAST_FALL)


def _falls(
    y: NDArray[np.float64], level: NDArray[np.float64], width: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The noise, the mean of the last values and the fall of each series [series, n] with the running mean `level`."""
    # Rounded values may have no noise at all; any fall is then significant.
    unit = np.maximum(neighbour_noise(y), 1e-12 * np.maximum(1.0, np.abs(y).max(axis=1)))
    end = y[:, -width:].mean(axis=1)
    return unit, end, (level.max(axis=1) - end) / (unit * math.sqrt(2 / width))


def smoothing_width(n: int) -> int:
    """Smoothing width: odd, about a tenth of the n values, at least three."""
    return max(3, 2 * (n // 20) + 1)


def smoothed(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Centred running mean [..., n] over `width` values; near the ends, over the widest symmetric window that fits."""
    half, n = width // 2, values.shape[-1]
    total = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    place = np.arange(n)
    reach = np.minimum(half, np.minimum(place, n - 1 - place))
    means: NDArray[np.float64] = (total[..., place + reach + 1] - total[..., place - reach]) / (2 * reach + 1)
    return means


def neighbour_noise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of single values [..., n] about a slowly varying level, from differences of neighbours."""
    noise: NDArray[np.float64] = 1.4826 * np.median(np.abs(np.diff(values, axis=-1)), axis=-1) / math.sqrt(2)
    return noise
