"""Where chance ends: upper points of what untrained networks, or permuted labels, score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata


def upper_point(values: Sequence[float], level: float) -> float:
    """The smallest of the values that at most a share `level` of them exceeds."""
    return float(np.quantile(np.asarray(values, dtype=float), 1 - level, method="inverted_cdf"))


def permuted_best(
    labels: ArrayLike, patients: ArrayLike, evaluations: int, draws: int, seed: int = 0
) -> NDArray[np.float64]:
    """The best AUC of so many scorings that know nothing, `draws` times: [draws].

    A scoring gives every patient one random score, so that a patient's pictures, labels [n] and patients [n], stay
    together; within a patient the pictures tie.
    """
    given = np.asarray(labels) == 1
    _, which = np.unique(np.asarray(patients), return_inverse=True)
    positives, negatives = int(given.sum()), int((~given).sum())
    rng = np.random.default_rng(seed)
    best = np.empty(draws)
    for draw in range(draws):
        scores = rng.permuted(np.tile(np.arange(which.max() + 1.0), (evaluations, 1)), axis=1)[:, which]
        ranks = rankdata(scores, axis=1)
        wins = ranks[:, given].sum(axis=1) - positives * (positives + 1) / 2
        best[draw] = (wins / (positives * negatives)).max()
    return best
