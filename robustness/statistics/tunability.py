"""Tunability: what tuning gains over a default configuration (Probst, Boulesteix and Bischl 2019).

The gain of n random trials is the expected best score among them (`budget`) less the mean score d of the default over
its r replicates. With s_J the jackknife error of the expected best over configurations (`jackknife`) and s_d^2 / r the
squared error of d, which a single replicate leaves unknown and which then counts as 0, its interval is

    gain -+ t sqrt(s_J^2 + s_d^2 / r),

t from Student's distribution with Satterthwaite's degrees of freedom of the sum, widened for skewness as a mean's
(`means`), with the skewness of the jackknife's pseudo-values. It exists up to n = N / 10, as that of `best_of`: the
gain of the best of all N has none, since resamples have no better one. The difference of two arms' gains has the same
interval, with the jackknife of the difference of both arms on the same configurations, and the replicates of their
defaults in pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.budget import BEYOND, FEW, MOST_SHARE, expected_best, expected_without_each
from robustness.statistics.jackknife import widened_ends
from robustness.statistics.proportions import Interval

Floats: TypeAlias = NDArray[np.float64]
FIXED = "jackknife, the default held fixed"
BOTH = "jackknife and the default's replicates"


@dataclass(frozen=True)
class Tunability:
    """The gain of the best of `trials` random trials over the default, or the difference of two arms' gains."""

    trials: int
    gain: float
    interval: Interval


def tunability(scores: ArrayLike, default: ArrayLike, sizes: list[int]) -> list[Tunability]:
    """The gain for each number of trials, from the scores [N] and those of the default [replicates]."""
    values: Floats = np.asarray(scores, dtype=float)
    return _gains([values], np.atleast_1d(np.asarray(default, dtype=float)), sizes)


def tunability_difference(
    first: ArrayLike, second: ArrayLike, defaults: ArrayLike, sizes: list[int]
) -> list[Tunability]:
    """The gain of the first arm less that of the second, from scores [N] each and those of the default [r, 2]."""
    pairs: Floats = np.asarray(defaults, dtype=float)
    arms: list[Floats] = [np.asarray(each, dtype=float) for each in (first, second)]
    return _gains(arms, pairs[:, 0] - pairs[:, 1], sizes)


def _gains(arms: list[Floats], default: Floats, sizes: list[int]) -> list[Tunability]:
    """The expected best of the first arm, less that of the second if there is one, less the default [r]."""
    signs = (1.0, -1.0)
    n = len(arms[0])
    expected = sum(sign * expected_best(arm, sizes) for sign, arm in zip(signs, arms, strict=False))
    found = []
    for place, size in enumerate(sizes):
        gain = float(np.asarray(expected)[place]) - float(default.mean())
        interval = Interval.none(f"fewer than {FEW} configurations" if n < FEW else BEYOND)
        if n >= FEW and size <= max(1.0, n * MOST_SHARE):
            without = sum(sign * expected_without_each(arm, size) for sign, arm in zip(signs, arms, strict=False))
            interval = _interval(gain, np.asarray(without), default)
        found.append(Tunability(size, gain, interval))
    return found


def _interval(gain: float, without: Floats, default: Floats) -> Interval:
    r = len(default)
    fixed = float(default.var(ddof=1)) / r if r > 1 else 0.0
    ends = widened_ends(gain, without, fixed, float(r - 1) if r > 1 else math.inf)
    return Interval.none("all scores are equal") if ends is None else Interval(*ends, BOTH if r > 1 else FIXED)
