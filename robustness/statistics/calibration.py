"""Calibration in buckets of predicted probability, as in the paper's figure, where 0.0 labels the bucket 0.0 to 0.1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.proportions import wilson

BUCKETS = 10


@dataclass(frozen=True)
class Bucket:
    """The predictions whose probability falls into one bucket."""

    lower: float
    """Lower edge of the bucket."""
    count: int
    """Number of predictions in it, over all models."""
    probability: float
    """Their mean probability."""
    share: float
    """Observed frequency of the event."""
    low: float
    high: float
    """95 % confidence interval of the share."""


def calibration_buckets(
    events: ArrayLike, probabilities: ArrayLike, patients: ArrayLike, buckets: int = BUCKETS
) -> list[Bucket]:
    """Return the non-empty buckets; events (0 or 1) and probabilities [models, n], patients [n].

    The interval is Wilson's for the effective number of independent predictions: p (1 - p) / v, where v is the variance
    of the share under sampling of patients, and at most the number of images. If the event occurred always or never,
    it is the number of patients.
    """
    occurred: NDArray[np.float64] = np.asarray(events, dtype=float)
    predicted: NDArray[np.float64] = np.asarray(probabilities, dtype=float)
    if predicted.size == 0 or not np.isfinite(predicted).all():
        return []
    patient = np.broadcast_to(np.unique(np.asarray(patients), return_inverse=True)[1], predicted.shape)
    image = np.broadcast_to(np.arange(predicted.shape[1]), predicted.shape)
    number = np.clip(np.floor(predicted * buckets).astype(int), 0, buckets - 1)
    filled = []
    for place in np.unique(number):
        inside = number == place
        outcomes, count = occurred[inside], int(inside.sum())
        share = float(outcomes.mean())
        residuals = np.bincount(patient[inside], weights=outcomes - share)
        clusters, images = len(np.unique(patient[inside])), len(np.unique(image[inside]))
        effective = float(clusters)
        if 0 < share < 1 and clusters > 1:
            variance = float((residuals**2).sum()) / count**2
            effective = min(share * (1 - share) / variance, float(images)) if variance > 0 else float(clusters)
        interval = wilson(share, effective)
        mean = float(predicted[inside].mean())
        filled.append(Bucket(float(place) / buckets, count, mean, share, interval.low, interval.high))
    return filled
