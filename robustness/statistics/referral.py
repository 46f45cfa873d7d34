"""AUCs after referral over resamples of patients, many at once.

Shapes: `labels` and `uncertainty` [n], `probabilities` [n, classes], `weights` [resamples, n]: how often a picture
is in a resample. A row of ones is the data itself; for it these are the numbers of `robustness.metrics.referral_curve`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from robustness.statistics.proportions import LEVEL, resampling

AT_ONCE = 2_000_000
"""Weights that are worked on together, which bounds the memory."""


def patient_weights(patients: ArrayLike, resamples: int, seed: int = 0) -> NDArray[np.float64]:
    """Weights [resamples, n] of whole patients drawn with replacement: all pictures of one have the same weight."""
    numbers = np.unique(np.asarray(patients), return_inverse=True)[1]
    if not len(numbers):
        return np.zeros((resamples, 0))
    return resampling(int(numbers.max()) + 1, resamples, seed)[:, numbers]


def referred_aucs(
    labels: ArrayLike,
    probabilities: ArrayLike,
    uncertainty: ArrayLike,
    fractions: Sequence[float],
    weights: ArrayLike,
) -> NDArray[np.float64]:
    """The AUC of what is left once each fraction, the most uncertain, has been referred: [resamples, fractions].

    With two classes it is the AUC of class 1, with more the mean of each class against the rest; NaN where a class, or
    everything else, is missing from what is left.
    """
    given, predicted = np.asarray(labels), np.asarray(probabilities, dtype=np.float64)
    drawn = np.asarray(weights, dtype=np.float64)
    found = np.full((len(drawn), len(fractions)), math.nan)
    if not len(given) or np.isnan(predicted).any():
        return found
    surest_first = np.argsort(np.asarray(uncertainty), kind="stable")
    given, predicted = given[surest_first], predicted[surest_first]
    classes = (1,) if predicted.shape[1] == 2 else range(predicted.shape[1])
    rankings = [_Ranking.of(given == each, predicted[:, each]) for each in classes]
    step = max(1, AT_ONCE // len(given))
    for start in range(0, len(drawn), step):
        # Pictures down, resamples across: sums over pictures and reordering them are fastest so.
        part = np.ascontiguousarray(drawn[start : start + step, surest_first].T)
        before = np.cumsum(part, axis=0) - part
        total = part.sum(axis=0)
        for place, fraction in enumerate(fractions):
            # 0.3 * 10 is 2.9999999999999996 in binary, as in `robustness.metrics.referral_curve`.
            kept = np.clip(total - np.floor(fraction * total + 1e-9) - before, 0.0, part)
            found[start : start + step, place] = np.mean([ranking.aucs(kept) for ranking in rankings], axis=0)
    return found


@dataclass(frozen=True)
class _Ranking:
    """Pictures by their score, from the lowest."""

    order: NDArray[np.int64]
    positive: NDArray[np.bool_]
    """[n], in that order."""
    starts: NDArray[np.int64]
    """Where each run of equal scores begins."""

    @classmethod
    def of(cls, positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> _Ranking:
        order = np.argsort(scores, kind="stable")
        ordered = scores[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        return cls(order, positive[order], starts)

    def aucs(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """P(score of a positive > score of a negative), a tie counting half; weights [n, resamples]."""
        ranked = weights[self.order]
        above = np.where(self.positive[:, None], ranked, 0.0)
        below = ranked - above
        if len(self.starts) < len(self.order):
            above, below = np.add.reduceat(above, self.starts), np.add.reduceat(below, self.starts)
        wins = (above * (np.cumsum(below, axis=0) - below / 2)).sum(axis=0)
        pairs = above.sum(axis=0) * below.sum(axis=0)
        found: NDArray[np.float64] = np.divide(wins, pairs, out=np.full(len(pairs), math.nan), where=pairs > 0)
        return found


def between(values: ArrayLike) -> float:
    """The standard error of a mean over models, from how they differ: sd / sqrt(models); NaN for fewer than two."""
    given: NDArray[np.float64] = np.asarray(values, dtype=float)
    return float(given.std(ddof=1) / math.sqrt(len(given))) if len(given) > 1 else math.nan


@dataclass(frozen=True)
class Difference:
    """A difference of two means over models, and how sure it is."""

    difference: float
    low: float
    high: float
    p_value: float
    pictures_error: float
    """The standard error over resamples of patients, the models as they are."""
    models_error: float
    """The standard error from how the models of each arm differ; NaN if an arm has one model."""


def difference_of_means(
    first: Sequence[float], second: Sequence[float], resampled: ArrayLike, level: float = LEVEL
) -> Difference:
    """The mean of the first arm's models minus that of the second's, with pictures and models both taken as drawn.

    The variance is that of `resampled`, the differences of the means over resamples of patients, plus s^2 / r of each
    arm's r models; the interval is Student's with the degrees of freedom of Welch and Satterthwaite, where the
    resamples count as known. An arm with one model adds nothing for it, since nothing is known.
    """
    samples: NDArray[np.float64] = np.asarray(resampled, dtype=float)
    samples = samples[np.isfinite(samples)]
    difference = float(np.mean(first) - np.mean(second))
    pictures = float(samples.std(ddof=1)) if len(samples) > 1 else math.nan
    parts = [(between(arm) ** 2, len(arm) - 1) for arm in (first, second) if len(arm) > 1]
    models = math.sqrt(sum(part for part, _ in parts)) if len(parts) == 2 else math.nan
    variance = pictures**2 + sum(part for part, _ in parts)
    if not math.isfinite(difference + variance) or variance <= 0:
        return Difference(difference, math.nan, math.nan, math.nan, pictures, models)
    loose = sum(part**2 / freedom for part, freedom in parts)
    freedom = variance**2 / loose if loose > 0 else math.inf
    error = math.sqrt(variance)
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * error
    p_value = 2 * float(stats.t.sf(abs(difference) / error, freedom))
    return Difference(difference, difference - half, difference + half, p_value, pictures, models)
