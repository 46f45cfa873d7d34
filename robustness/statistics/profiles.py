"""Performance profiles: the fraction of trials that score above every threshold, with bands that hold at all of them.

A profile is the mean of `above` [configurations, thresholds], the share of a configuration's replicates above each
threshold. Its band is simultaneous: the profile +- the 95 % point of the largest deviation, over all thresholds, of a
bootstrap sample of configurations. Below ten configurations it is the bound of Dvoretzky, Kiefer and Wolfowitz.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.proportions import DRAWS, LEVEL, effective_number, resampling

FEW = 10
MOST_WEIGHTS = 20_000_000
"""Bootstrap weights held at a time."""


@dataclass(frozen=True)
class Band:
    """A curve [thresholds] between its ends."""

    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def above(scores: ArrayLike, grid: ArrayLike) -> NDArray[np.float64]:
    """1 where scores [n] exceed thresholds [g]: [n, g]."""
    values, limits = np.asarray(scores, dtype=float), np.asarray(grid, dtype=float)
    exceeds: NDArray[np.float64] = (values[:, None] > limits[None, :]).astype(np.float64)
    return exceeds


def area(scores: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    """Each score's part [n] in the area under the profile between two thresholds, as a share of the whole.

    The mean over trials is the area: the integral of the fraction above t, from low to high, over (high - low).
    """
    inside: NDArray[np.float64] = np.clip(np.asarray(scores, dtype=float), low, high)
    return (inside - low) / (high - low)


def profile_band(
    shares: NDArray[np.float64], population: int | None = None, lowest: float = 0.0, draws: int = DRAWS, seed: int = 0
) -> Band:
    """The mean of shares [configurations, thresholds] with its simultaneous band, between `lowest` and 1.

    For a difference of two arms, shares are differences and `lowest` is -1.
    """
    n = len(shares)
    middle = shares.mean(axis=0)
    width = _width(shares, middle, draws, seed, spread=1 - lowest)
    width *= 0.0 if math.isinf(effective_number(n, population)) else math.sqrt(n / effective_number(n, population))
    return Band(middle, np.maximum(middle - width, lowest), np.minimum(middle + width, 1.0))


def _width(shares: NDArray[np.float64], middle: NDArray[np.float64], draws: int, seed: int, spread: float) -> float:
    n = len(shares)
    if n < FEW:
        return spread * math.sqrt(math.log(2 / (1 - LEVEL)) / (2 * n))
    largest = []
    rounds = math.ceil(draws * n / MOST_WEIGHTS)
    for part in range(rounds):
        weights = resampling(n, math.ceil(draws / rounds), seed + part)
        largest.append(np.abs(weights @ shares / n - middle).max(axis=1))
    return float(np.quantile(np.concatenate(largest), LEVEL))
