"""Confidence intervals of proportions: Wilson's interval, and a cluster bootstrap for replicated configurations.

The unit is the configuration. `values` has one number for each: 0 or 1, or the share of its replicates. If n of the N
configurations of a finite space were drawn without replacement, the variance is (N - n) / (N - 1) times that for an
infinite space, so n (N - 1) / (N - n) replaces n. With n = N there is no sampling error.
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
"""Default number of bootstrap samples."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval and its method; NaN bounds if there are no observations."""

    low: float
    high: float
    method: str


NO_OBSERVATIONS = Interval(math.nan, math.nan, "none: no observations")
WHOLE_SPACE = "none: the whole space was run"


def effective_number(n: int, population: int | None) -> float:
    """Size of an equally precise sample from an infinite space: n (N - 1) / (N - n); infinite if n = N."""
    if population is None:
        return float(n)
    if population <= n:
        return math.inf
    return n * (population - 1) / (population - n)


def wilson(fraction: float, n: float, level: float = LEVEL) -> Interval:
    """Wilson's score interval of a proportion of n, which need not be an integer.

    (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    """
    if n == 0 or math.isnan(fraction):
        return NO_OBSERVATIONS
    if math.isinf(n):
        return Interval(fraction, fraction, WHOLE_SPACE)
    z = float(stats.norm.ppf((1 + level) / 2))
    centre = (fraction + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(fraction * (1 - fraction) / n + z * z / (4 * n * n))
    # At 0 and 1 rounding would keep the formula from reaching the bound.
    low = 0.0 if fraction == 0 else max(0.0, centre - half)
    high = 1.0 if fraction == 1 else min(1.0, centre + half)
    return Interval(low, high, "Wilson")


@lru_cache(maxsize=8)
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


def percentiles(estimate: float, samples: ArrayLike, n: int, population: int | None, level: float = LEVEL) -> Interval:
    """Percentile interval of bootstrap samples, shrunk by the finite-population correction."""
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
    """Bootstrap interval of the mean of values [n], one per configuration."""
    sample: NDArray[np.float64] = np.asarray(values, dtype=float)
    n = len(sample)
    if n == 0:
        return NO_OBSERVATIONS
    samples = resampling(n, draws, seed) @ sample / n
    return percentiles(float(sample.mean()), samples, n, population, level)


def fraction_interval(values: ArrayLike, replicated: bool, population: int | None = None) -> Interval:
    """Interval of a proportion from values [n]: Wilson's for one trial per configuration, else the cluster bootstrap.

    If all configurations agree the bootstrap would have zero width, so Wilson's interval is used.
    """
    sample: NDArray[np.float64] = np.asarray(values, dtype=float)
    if len(sample) == 0:
        return NO_OBSERVATIONS
    if replicated and 0 < sample.mean() < 1:
        return mean_interval(sample, population)
    return wilson(float(sample.mean()), effective_number(len(sample), population))
