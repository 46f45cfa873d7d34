"""Calibration in buckets of predicted probability, as the paper's figure has it: 0.0 stands for 0.0 to 0.1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.proportions import wilson

BUCKETS = 10


@dataclass(frozen=True)
class Bucket:
    """The predictions whose probability lies in one bucket."""

    lower: float
    """The lower end of the bucket."""
    count: int
    """How many predictions it holds, those of all models."""
    probability: float
    """Their mean probability."""
    share: float
    """How often they came true."""
    low: float
    high: float
    """The 95 % interval of the share."""


def calibration_buckets(
    events: ArrayLike, probabilities: ArrayLike, patients: ArrayLike, buckets: int = BUCKETS
) -> list[Bucket]:
    """The filled buckets; events (did it come true) and probabilities [models, n], patients [n].

    The interval is Wilson's for the number of independent predictions that would be as sure: p (1 - p) / v with v the
    variance of the share when patients are drawn, at most the number of pictures; where all came true or none did, the
    number of patients.
    """
    true: NDArray[np.float64] = np.asarray(events, dtype=float)
    given: NDArray[np.float64] = np.asarray(probabilities, dtype=float)
    if given.size == 0 or not np.isfinite(given).all():
        return []
    who = np.broadcast_to(np.unique(np.asarray(patients), return_inverse=True)[1], given.shape)
    picture = np.broadcast_to(np.arange(given.shape[1]), given.shape)
    number = np.clip(np.floor(given * buckets).astype(int), 0, buckets - 1)
    found = []
    for place in np.unique(number):
        inside = number == place
        came, count = true[inside], int(inside.sum())
        share = float(came.mean())
        residuals = np.bincount(who[inside], weights=came - share)
        clusters, pictures = len(np.unique(who[inside])), len(np.unique(picture[inside]))
        sure = float(clusters)
        if 0 < share < 1 and clusters > 1:
            variance = float((residuals**2).sum()) / count**2
            sure = min(share * (1 - share) / variance, float(pictures)) if variance > 0 else float(clusters)
        interval = wilson(share, sure)
        mean = float(given[inside].mean())
        found.append(Bucket(float(place) / buckets, count, mean, share, interval.low, interval.high))
    return found
