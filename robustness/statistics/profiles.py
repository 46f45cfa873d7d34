"""Performance profiles: the fraction of trials that score above each threshold, with simultaneous confidence bands.

A profile is the mean of `above` [configurations, thresholds], the share of a configuration's replicates above each
threshold. Its band is simultaneous: the profile +- the 95 % quantile of the largest deviation over all thresholds of a
bootstrap sample of configurations. With fewer than 30 configurations, or where all of them agree, it is the
Dvoretzky-Kiefer-Wolfowitz bound, which holds for any number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.proportions import DRAWS, LEVEL, resampling

FEW = 30
"""Minimum number of configurations for the bootstrap band."""
MOST_WEIGHTS = 20_000_000
"""Maximum number of bootstrap weights in memory at once."""


@dataclass(frozen=True)
class Band:
    """A curve [thresholds] with its lower and upper confidence bounds."""

    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def above(scores: ArrayLike, grid: ArrayLike) -> NDArray[np.float64]:
    """1 where scores [n] exceed thresholds [g], else 0: [n, g]."""
    values, limits = np.asarray(scores, dtype=float), np.asarray(grid, dtype=float)
    exceeds: NDArray[np.float64] = (values[:, None] > limits[None, :]).astype(np.float64)
    return exceeds


def area(scores: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    """Contribution of each score [n] to the normalised area under the profile between two thresholds.

    The mean over trials is the area: the integral from low to high of the fraction above t, divided by (high - low).
    """
    clipped: NDArray[np.float64] = np.clip(np.asarray(scores, dtype=float), low, high)
    return (clipped - low) / (high - low)


def profile_band(shares: NDArray[np.float64], lowest: float = 0.0, draws: int = DRAWS, seed: int = 0) -> Band:
    """Mean of shares [configurations, thresholds] with its simultaneous band, clipped to `lowest` and 1.

    For the difference of two arms, shares are differences and `lowest` is -1.
    """
    middle = shares.mean(axis=0)
    width = _width(shares, middle, draws, seed, spread=1 - lowest)
    return Band(middle, np.maximum(middle - width, lowest), np.minimum(middle + width, 1.0))


def _width(shares: NDArray[np.float64], middle: NDArray[np.float64], draws: int, seed: int, spread: float) -> float:
    n = len(shares)
    if n < FEW or not np.ptp(shares, axis=0).any():
        return spread * math.sqrt(math.log(2 / (1 - LEVEL)) / (2 * n))
    largest = []
    rounds = math.ceil(draws * n / MOST_WEIGHTS)
    for part in range(rounds):
        weights = resampling(n, math.ceil(draws / rounds), seed + part)
        largest.append(np.abs(weights @ shares / n - middle).max(axis=1))
    return float(np.quantile(np.concatenate(largest), LEVEL))
