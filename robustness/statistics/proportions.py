"""Confidence intervals of proportions: Wilson's, at the number of independent trials that replicates are worth.

The unit is the configuration. Intervals describe the process that draws configurations and seeds: they are the same
whether the configurations are few or many of a finite space, since another seed could change the outcome of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from robustness.statistics.clusters import configuration_means, effective_number

LEVEL = 0.95
DRAWS = 2000
"""Default number of bootstrap samples."""
MOST_CELLS = 4_000_000
"""Bootstrap samples x units that are held at a time."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval and its method; NaN bounds where there is none, and then `method` says why."""

    low: float
    high: float
    method: str

    @staticmethod
    def none(why: str) -> Interval:
        return Interval(math.nan, math.nan, f"none: {why}")


NO_OBSERVATIONS = Interval.none("no observations")


def agreeing(interval: Interval, estimate: float, p_value: float, level: float = LEVEL) -> Interval:
    """Return the interval, which leaves out 0 exactly when the p-value of its own test is below 1 - level.

    In exact arithmetic it does so already; this keeps rounding errors from parting the two where an end is at 0.
    """
    if p_value >= round(1 - level, 12):
        return replace(interval, low=min(interval.low, 0.0), high=max(interval.high, 0.0))
    least = math.ulp(0.0)
    if estimate > 0:
        return replace(interval, low=max(interval.low, least))
    return replace(interval, high=min(interval.high, -least))


def wilson(fraction: float, n: float, level: float = LEVEL) -> Interval:
    """Wilson's score interval of a proportion of n, which need not be an integer.

    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    """
    if n == 0 or math.isnan(fraction):
        return NO_OBSERVATIONS
    z = float(ndtri((1 + level) / 2))
    centre = (fraction + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(max(0.0, fraction * (1 - fraction)) / n + z * z / (4 * n * n))
    # At 0 and 1 rounding would keep the formula from reaching the bound.
    low = 0.0 if fraction == 0 else max(0.0, centre - half)
    high = 1.0 if fraction == 1 else min(1.0, centre + half)
    return Interval(low, high, "Wilson")


def fraction_interval(values: ArrayLike, owners: ArrayLike) -> Interval:
    """Interval of the mean over configurations of outcomes [trials], 0 or 1, of the configurations `owners` [trials].

    It is Wilson's at the effective number of trials (`clusters`), which with one trial per configuration is theirs.
    """
    if not len(np.asarray(values)):
        return NO_OBSERVATIONS
    return wilson(float(configuration_means(values, owners).mean()), effective_number(values, owners))


def enough_draws(n: int, most: int = DRAWS) -> int:
    """Bootstrap samples of n units: `most` of them, fewer but at least 200 where that would take too much memory."""
    return int(np.clip(MOST_CELLS // max(n, 1), 200, most))


def resampling(n: int, draws: int = DRAWS, seed: int = 0) -> NDArray[np.float64]:
    """Bootstrap weights [draws, n]: how often each of n units occurs in each resample of size n; read-only.

    The same n and seed always produce the same resamples, which keeps curves over the same units paired.
    """
    rng = np.random.default_rng(seed)
    weights = np.empty((draws, n))
    for draw in range(draws):
        weights[draw] = np.bincount(rng.integers(n, size=n), minlength=n)
    weights.setflags(write=False)
    return weights
