"""Fractions and how sure they are: Wilson's interval, and a cluster bootstrap where configurations are replicated.

The unit is the configuration. `values` are one number for each: 0 or 1, or with replicates the share of its replicates.
Of a finite space of N configurations, of which n were drawn without repeats, more is known than of an endless one: the
variance is (N - n) / (N - 1) of that, so n (N - 1) / (N - n) takes the place of n. With n = N no chance is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

LEVEL = 0.95
DRAWS = 2000
"""Bootstrap samples."""


@dataclass(frozen=True)
class Interval:
    """A range and the method that gave it; NaN ends if nothing is known."""

    low: float
    high: float
    method: str


NOTHING_KNOWN = Interval(math.nan, math.nan, "none: no observations")
WHOLE_SPACE = "none: the whole space was run"


def effective_number(n: int, population: int | None) -> float:
    """The size of a sample of an endless space that is as sure: n (N - 1) / (N - n); infinite if n = N."""
    if population is None:
        return float(n)
    if population <= n:
        return math.inf
    return n * (population - 1) / (population - n)


def wilson(fraction: float, n: float, level: float = LEVEL) -> Interval:
    """Wilson's score interval of a fraction of n, which need not be whole.

    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    """
    if n == 0 or math.isnan(fraction):
        return NOTHING_KNOWN
    if math.isinf(n):
        return Interval(fraction, fraction, WHOLE_SPACE)
    z = float(stats.norm.ppf((1 + level) / 2))
    centre = (fraction + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(fraction * (1 - fraction) / n + z * z / (4 * n * n))
    # At 0 and 1 the formula meets the end only up to rounding.
    low = 0.0 if fraction == 0 else max(0.0, centre - half)
    high = 1.0 if fraction == 1 else min(1.0, centre + half)
    return Interval(low, high, "Wilson")


@lru_cache(maxsize=8)
def resampling(n: int, draws: int = DRAWS, seed: int = 0) -> NDArray[np.float64]:
    """Bootstrap weights [draws, n]: how often each of n units is in each sample of n with replacement; read-only.

    Everything that is resampled with one n and seed is resampled alike, so what two curves share stays shared.
    """
    rng = np.random.default_rng(seed)
    weights = np.empty((draws, n))
    for draw in range(draws):
        weights[draw] = np.bincount(rng.integers(n, size=n), minlength=n)
    weights.setflags(write=False)
    return weights


def percentiles(estimate: float, samples: ArrayLike, n: int, population: int | None, level: float = LEVEL) -> Interval:
    """The percentile interval of bootstrap samples, drawn together as a finite population demands."""
    shrink = math.sqrt(n / effective_number(n, population)) if n else 0.0
    if shrink == 0:
        return Interval(estimate, estimate, WHOLE_SPACE)
    tail = (1 - level) / 2
    low, high = np.quantile(np.asarray(samples, dtype=float), [tail, 1 - tail])
    return Interval(
        estimate + shrink * (float(low) - estimate), estimate + shrink * (float(high) - estimate), "cluster bootstrap"
    )


def mean_interval(
    values: ArrayLike, population: int | None = None, level: float = LEVEL, draws: int = DRAWS, seed: int = 0
) -> Interval:
    """The bootstrap interval of the mean of one value for each configuration, values [n]."""
    given: NDArray[np.float64] = np.asarray(values, dtype=float)
    n = len(given)
    if n == 0:
        return NOTHING_KNOWN
    samples = resampling(n, draws, seed) @ given / n
    return percentiles(float(given.mean()), samples, n, population, level)


def fraction_interval(values: ArrayLike, replicated: bool, population: int | None = None) -> Interval:
    """The interval of a fraction: Wilson's for one trial a configuration, else the cluster bootstrap; values [n].

    Where all configurations agree a bootstrap would claim to be certain: then it is Wilson's as well.
    """
    given: NDArray[np.float64] = np.asarray(values, dtype=float)
    if len(given) == 0:
        return NOTHING_KNOWN
    if replicated and 0 < given.mean() < 1:
        return mean_interval(given, population)
    return wilson(float(given.mean()), effective_number(len(given), population))
