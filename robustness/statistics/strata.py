"""Fractions and paired differences weighted to a space of which some strata were drawn more densely than others.

With weights W_h (the strata's shares of the space), stratum fractions p_h and numbers n_h, the estimate is
p = sum W_h p_h. Its interval is Wilson's, or Tango's for a difference, at the number of independent draws from the
whole space that would be as precise,

    n = min(v(p) / sum(W_h^2 v(p_h) / n_h),  1 / sum(W_h^2 / n_h)),

where v is the variance of one draw. The second bound, that of strata that are all alike, keeps a stratum without any
variation from counting as known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.clusters import configuration_means, effective_number
from robustness.statistics.proportions import Interval, wilson
from robustness.statistics.score_test import score_interval, score_p


@dataclass(frozen=True)
class WeightedEstimate:
    """An estimate for the whole space, its interval, and the number of independent draws that it is worth."""

    value: float
    interval: Interval
    effective: float
    p_value: float | None = None
    """Of the score test that the interval inverts; only of a difference."""


def weighted_fraction(values: ArrayLike, owners: ArrayLike, strata: ArrayLike, weights: ArrayLike) -> WeightedEstimate:
    """Estimate the fraction of outcomes [trials], 0 or 1, of the configurations `owners` [trials].

    `strata` [trials] numbers the stratum of each; `weights` [strata] add up to 1. Every stratum has a trial.
    """
    sample = np.asarray(values, dtype=float)
    (share, _), n = _weighted(sample, owners, strata, weights)
    return WeightedEstimate(share, wilson(share, n), n)


def weighted_difference(
    first: ArrayLike, second: ArrayLike, owners: ArrayLike, strata: ArrayLike, weights: ArrayLike
) -> WeightedEstimate:
    """Estimate the difference of two arms' fractions, first minus second, from pairs of outcomes as above."""
    (b, c), n = _weighted(np.asarray(first, dtype=float) - np.asarray(second, dtype=float), owners, strata, weights)
    return WeightedEstimate(b - c, score_interval(n * b, n * c, n), n, score_p(n * b, n * c, n))


def _weighted(
    values: NDArray[np.float64], owners: ArrayLike, strata: ArrayLike, weights: ArrayLike
) -> tuple[tuple[float, float], float]:
    """Return the weighted shares of values that are 1 and that are -1, and n above; all over configurations."""
    numbers = np.asarray(owners)
    share_of: NDArray[np.float64] = np.asarray(weights, dtype=float)
    _, firsts = np.unique(numbers, return_index=True)
    stratum = np.asarray(strata)[firsts]
    drawn = np.bincount(stratum, minlength=len(share_of))
    # Replicates are taken to be as alike in one stratum as in another.
    worth = drawn * effective_number(values, numbers) / len(firsts)
    up, down = (
        np.bincount(stratum, weights=configuration_means(values == sign, numbers), minlength=len(share_of)) / drawn
        for sign in (1, -1)
    )
    whole_up, whole_down = float(share_of @ up), float(share_of @ down)
    alike = 1 / float((share_of**2 / worth).sum())
    variance = float((share_of**2 * _variance(up, down) / worth).sum())
    exact = float(_variance(np.array(whole_up), np.array(whole_down))) / variance if variance > 0 else np.inf
    return (whole_up, whole_down), min(alike, exact)


def _variance(up: NDArray[np.float64], down: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variance of a value that is 1 and -1 with these probabilities, else 0."""
    variance: NDArray[np.float64] = np.maximum(up + down - (up - down) ** 2, 0.0)
    return variance
