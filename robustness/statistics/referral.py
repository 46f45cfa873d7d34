"""AUCs after referral, vectorised over resamples of patients.

Shapes: `labels` and `uncertainty` [n], `probabilities` [n, classes], `weights` [resamples, n]: how often a resample has
an image. A row of ones is the original data, for which the results equal `robustness.metrics.referral_curve`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.proportions import resampling

CHUNK = 2_000_000
"""Number of weights processed at a time, which bounds memory."""


def patient_weights(patients: ArrayLike, resamples: int, seed: int = 0) -> NDArray[np.float64]:
    """Weights [resamples, n] from resampling whole patients: all images of a patient have the same weight."""
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
    """AUC of the remaining images after referring each fraction of the most uncertain ones: [resamples, fractions].

    With two classes this is the AUC of class 1, with more the mean one-vs-rest AUC; NaN where the remaining images lack
    a class or consist of it alone.
    """
    truth, predicted = np.asarray(labels), np.asarray(probabilities, dtype=np.float64)
    drawn = np.asarray(weights, dtype=np.float64)
    aucs = np.full((len(drawn), len(fractions)), math.nan)
    if not len(truth) or np.isnan(predicted).any():
        return aucs
    most_certain_first = np.argsort(np.asarray(uncertainty), kind="stable")
    truth, predicted = truth[most_certain_first], predicted[most_certain_first]
    classes = (1,) if predicted.shape[1] == 2 else range(predicted.shape[1])
    rankings = [_Ranking.of(truth == each, predicted[:, each]) for each in classes]
    step = max(1, CHUNK // len(truth))
    for start in range(0, len(drawn), step):
        # [n, resamples]: summing over images and reordering them is fastest along the first axis.
        part = np.ascontiguousarray(drawn[start : start + step, most_certain_first].T)
        before = np.cumsum(part, axis=0) - part
        total = part.sum(axis=0)
        for place, fraction in enumerate(fractions):
            # 0.3 * 10 is 2.9999999999999996 in binary, as in `robustness.metrics.referral_curve`.
            kept = np.clip(total - np.floor(fraction * total + 1e-9) - before, 0.0, part)
            aucs[start : start + step, place] = np.mean([ranking.aucs(kept) for ranking in rankings], axis=0)
    return aucs


@dataclass(frozen=True)
class _Ranking:
    """Images in ascending order of their score."""

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
        """P(score of a positive > score of a negative), with ties counting half; weights [n, resamples]."""
        ranked = weights[self.order]
        above = np.where(self.positive[:, None], ranked, 0.0)
        below = ranked - above
        if len(self.starts) < len(self.order):
            above, below = np.add.reduceat(above, self.starts), np.add.reduceat(below, self.starts)
        wins = (above * (np.cumsum(below, axis=0) - below / 2)).sum(axis=0)
        pairs = above.sum(axis=0) * below.sum(axis=0)
        aucs: NDArray[np.float64] = np.divide(wins, pairs, out=np.full(len(pairs), math.nan), where=pairs > 0)
        return aucs
