"""How good predictions are and how sure: pure functions over arrays.

Shapes: `labels` [n], `scores` [n] (higher means class 1), `probabilities` [n, classes] or, over the draws of a Bayesian
network, [samples, n, classes]. A measure of nothing, or one that needs both classes and has one, is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]

REFERRED = (0.0, 0.1, 0.2, 0.3)
"""The fractions of pictures referred to a doctor at which the paper reports the AUC of the rest."""

OBJECTIVES = {"auc": "validation_auc", "accuracy": "validation_accuracy"}
"""The measure behind each objective that a search can name."""


def auc(labels: ArrayLike, scores: ArrayLike) -> float:
    """The area under the ROC curve: P(score of a positive > score of a negative), a tie counting half."""
    from scipy.stats import rankdata

    positive = np.asarray(labels) == 1
    values: Floats = np.asarray(scores, dtype=np.float64)
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0 or np.isnan(values).any():
        return math.nan
    ranks = rankdata(values)
    wins = float(ranks[positive].sum()) - positives * (positives + 1) / 2
    return wins / (positives * negatives)


def accuracy(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """The share of pictures whose most probable class is the right one; probabilities [n, classes]."""
    given = np.asarray(labels)
    predicted: Floats = np.asarray(probabilities, dtype=np.float64)
    if len(given) == 0 or np.isnan(predicted).any():
        return math.nan
    return float((predicted.argmax(axis=1) == given).mean())


def nll(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """The mean of -log p(right class), in nats; probabilities [n, classes], kept above the least normal float32."""
    given: NDArray[np.int64] = np.asarray(labels, dtype=np.int64)
    if len(given) == 0:
        return math.nan
    predicted: Floats = np.asarray(probabilities, dtype=np.float64)[np.arange(len(given)), given]
    return float(-np.log(np.maximum(predicted, np.finfo(np.float32).tiny)).mean())


def predictive_mean(probabilities: ArrayLike) -> Floats:
    """The mean over the draws: [samples, n, classes] to [n, classes]."""
    mean: Floats = np.asarray(probabilities, dtype=np.float64).mean(axis=0)
    return mean


def entropy(probabilities: ArrayLike) -> Floats:
    """-sum_c p_c log p_c over the last axis, in nats."""
    p: Floats = np.asarray(probabilities, dtype=np.float64)
    total: Floats = -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=-1)
    return total


def predictive_entropy(probabilities: ArrayLike) -> Floats:
    """The entropy of the predictive mean: [samples, n, classes] to [n]."""
    return entropy(predictive_mean(probabilities))


def mutual_information(probabilities: ArrayLike) -> Floats:
    """H(mean of the draws) - mean of H(draw): what knowing the weights would tell; [samples, n, classes] to [n]."""
    gain = predictive_entropy(probabilities) - entropy(probabilities).mean(axis=0)
    # Never negative in exact arithmetic; rounding may take it to -1e-17 where all draws agree. NaN stays NaN.
    information: Floats = np.maximum(gain, 0.0)
    return information


def referral_curve(
    labels: ArrayLike,
    scores: ArrayLike,
    uncertainty: ArrayLike,
    fractions: Sequence[float] = REFERRED,
    measure: Callable[[Any, Any], float] = auc,
) -> Floats:
    """The AUC of what is left after the most uncertain pictures have been referred, for each fraction: [fractions].

    floor(fraction * n) pictures are referred; of equally uncertain ones, those that come last in the data.
    """
    given, values = np.asarray(labels), np.asarray(scores)
    surest_first = np.argsort(np.asarray(uncertainty), kind="stable")
    curve = []
    for fraction in fractions:
        if not 0 <= fraction < 1:
            raise ValueError(f"a referred fraction is at least 0 and below 1, not {fraction}")
        # 0.3 * 10 is 2.9999999999999996 in binary: without the small addition only 2 would be referred.
        kept = surest_first[: len(given) - math.floor(fraction * len(given) + 1e-9)]
        curve.append(measure(given[kept], values[kept]))
    return np.array(curve, dtype=np.float64)


class CalibrationCurve(NamedTuple):
    """Bins of equal width over the confidence (the probability of the predicted class); empty bins are left out."""

    confidence: Floats
    """[bins], the mean confidence in the bin."""
    accuracy: Floats
    """[bins], the share of right predictions in the bin."""
    size: NDArray[np.int64]
    """[bins], how many predictions the bin holds."""


def calibration_curve(labels: ArrayLike, probabilities: ArrayLike, bins: int = 15) -> CalibrationCurve:
    """How often predictions are right against how sure they are; probabilities [n, classes]."""
    predicted: Floats = np.asarray(probabilities, dtype=np.float64)
    if len(predicted) == 0 or np.isnan(predicted).any():
        nothing: Floats = np.zeros(0)
        return CalibrationCurve(nothing, nothing, np.zeros(0, dtype=np.int64))
    confidence = predicted.max(axis=1)
    right: Floats = (predicted.argmax(axis=1) == np.asarray(labels)).astype(np.float64)
    number = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    count = np.bincount(number, minlength=bins)
    filled = count > 0
    mean_confidence = np.bincount(number, confidence, bins)[filled] / count[filled]
    mean_right = np.bincount(number, right, bins)[filled] / count[filled]
    return CalibrationCurve(mean_confidence, mean_right, count[filled].astype(np.int64))


def expected_calibration_error(labels: ArrayLike, probabilities: ArrayLike, bins: int = 15) -> float:
    """sum_b (n_b / n) |accuracy_b - confidence_b| over the bins of `calibration_curve`."""
    curve = calibration_curve(labels, probabilities, bins)
    if len(curve.size) == 0:
        return math.nan
    gaps: Floats = np.abs(curve.accuracy - curve.confidence)
    return float((gaps * curve.size).sum() / curve.size.sum())


def bootstrap_standard_error(
    statistic: Callable[..., float],
    arrays: Sequence[ArrayLike],
    resamples: int = 100,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
) -> float:
    """The standard deviation of `statistic(*arrays)` over resamples, drawn with replacement, of all arrays alike.

    With `groups` [n] whole groups are drawn (patients, whose pictures belong together). Resamples without a value, as
    the AUC of one class, are left out; NaN if fewer than two are left. Without a generator the draws start from seed 0.
    """
    values = [np.asarray(array) for array in arrays]
    count = len(values[0])
    if count == 0:
        return math.nan
    draw = np.random.default_rng(0) if generator is None else generator
    numbers = np.arange(count) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    rows_of = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    results = []
    for _ in range(resamples):
        chosen = draw.integers(len(rows_of), size=len(rows_of))
        rows = chosen if groups is None else np.concatenate([rows_of[number] for number in chosen])
        result = statistic(*(array[rows] for array in values))
        if not math.isnan(result):
            results.append(result)
    return float(np.std(results, ddof=1)) if len(results) > 1 else math.nan
