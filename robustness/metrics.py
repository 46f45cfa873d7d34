"""Quality and uncertainty of predictions as pure functions over arrays, and the registry of metrics of a study.

Shapes: `labels` [n], `scores` [n] (higher means class 1), `probabilities` [n, classes] or, over the draws of a Bayesian
network, [samples, n, classes]. A metric of an empty array, or one that needs both classes and sees only one, is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.goal import MAXIMIZE, Goal, GoalName, find_goal

Floats: TypeAlias = NDArray[np.float64]
MetricFunction: TypeAlias = Callable[[NDArray[np.int64], NDArray[Any]], float]
"""A function of labels [n] and mean probabilities [n, classes]."""

REFERRED = (0.0, 0.1, 0.2, 0.3)
"""Fractions of images referred to a doctor at which the paper reports the AUC of the remaining images."""


def auc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve: P(score of a positive > score of a negative), with ties counting half."""
    from scipy.stats import rankdata  # here, because scipy.stats is slow to import

    positive = np.asarray(labels) == 1
    values: Floats = np.asarray(scores, dtype=np.float64)
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0 or np.isnan(values).any():
        return math.nan
    ranks = rankdata(values)
    wins = float(ranks[positive].sum()) - positives * (positives + 1) / 2
    return wins / (positives * negatives)


def multiclass_auc(labels: NDArray[np.int64], probabilities: NDArray[Any]) -> float:
    """AUC of class 1 or, with more than two classes, the mean one-vs-rest AUC; probabilities [n, classes]."""
    classes = probabilities.shape[1]
    if classes == 2:
        return auc(labels, probabilities[:, 1])
    return float(np.mean([auc(labels == c, probabilities[:, c]) for c in range(classes)]))


def accuracy(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Fraction of examples whose most probable class is correct; probabilities [n, classes]."""
    truth = np.asarray(labels)
    predicted: Floats = np.asarray(probabilities, dtype=np.float64)
    if len(truth) == 0 or np.isnan(predicted).any():
        return math.nan
    return float((predicted.argmax(axis=1) == truth).mean())


def nll(labels: ArrayLike, probabilities: ArrayLike) -> float:
    """Mean of -log p(correct class) in nats; probabilities [n, classes], clipped at the smallest normal float32."""
    truth: NDArray[np.int64] = np.asarray(labels, dtype=np.int64)
    if len(truth) == 0:
        return math.nan
    predicted: Floats = np.asarray(probabilities, dtype=np.float64)[np.arange(len(truth)), truth]
    return float(-np.log(np.maximum(predicted, np.finfo(np.float32).tiny)).mean())


def predictive_mean(probabilities: ArrayLike) -> Floats:
    """Mean over the draws: [samples, n, classes] to [n, classes]."""
    mean: Floats = np.asarray(probabilities, dtype=np.float64).mean(axis=0)
    return mean


def entropy(probabilities: ArrayLike) -> Floats:
    """-sum_c p_c log p_c over the last axis, in nats."""
    p: Floats = np.asarray(probabilities, dtype=np.float64)
    total: Floats = -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=-1)
    return total


def predictive_entropy(probabilities: ArrayLike) -> Floats:
    """Entropy of the predictive mean: [samples, n, classes] to [n]."""
    return entropy(predictive_mean(probabilities))


def mutual_information(probabilities: ArrayLike) -> Floats:
    """Information about the weights, H(mean of the draws) - mean of H(draw): [samples, n, classes] to [n]."""
    gain = predictive_entropy(probabilities) - entropy(probabilities).mean(axis=0)
    # Non-negative in exact arithmetic, but rounding may yield -1e-17 where all draws agree. NaN stays NaN.
    information: Floats = np.maximum(gain, 0.0)
    return information


def referral_curve(
    labels: ArrayLike,
    scores: ArrayLike,
    uncertainty: ArrayLike,
    fractions: Sequence[float] = REFERRED,
    measure: Callable[[Any, Any], float] = auc,
) -> Floats:
    """AUC of the images that remain after referring the most uncertain fraction of them: [fractions].

    floor(fraction * n) images are referred; ties are broken by referring the later ones in the data first.
    """
    truth, values = np.asarray(labels), np.asarray(scores)
    most_certain_first = np.argsort(np.asarray(uncertainty), kind="stable")
    curve = []
    for fraction in fractions:
        if not 0 <= fraction < 1:
            raise ValueError(f"a referred fraction must be at least 0 and below 1, not {fraction}")
        # 0.3 * 10 is 2.9999999999999996 in binary: without the small offset only 2 would be referred.
        kept = most_certain_first[: len(truth) - math.floor(fraction * len(truth) + 1e-9)]
        curve.append(measure(truth[kept], values[kept]))
    return np.array(curve, dtype=np.float64)


class CalibrationCurve(NamedTuple):
    """Equal-width bins of the confidence, i.e. the probability of the predicted class; empty bins are dropped."""

    confidence: Floats
    """[bins], mean confidence in the bin."""
    accuracy: Floats
    """[bins], fraction of correct predictions in the bin."""
    size: NDArray[np.int64]
    """[bins], number of predictions in the bin."""


def calibration_curve(labels: ArrayLike, probabilities: ArrayLike, bins: int = 15) -> CalibrationCurve:
    """Accuracy against confidence; probabilities [n, classes]."""
    predicted: Floats = np.asarray(probabilities, dtype=np.float64)
    if len(predicted) == 0 or np.isnan(predicted).any():
        empty: Floats = np.zeros(0)
        return CalibrationCurve(empty, empty, np.zeros(0, dtype=np.int64))
    confidence = predicted.max(axis=1)
    correct: Floats = (predicted.argmax(axis=1) == np.asarray(labels)).astype(np.float64)
    number = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    count = np.bincount(number, minlength=bins)
    filled = count > 0
    mean_confidence = np.bincount(number, confidence, bins)[filled] / count[filled]
    mean_correct = np.bincount(number, correct, bins)[filled] / count[filled]
    return CalibrationCurve(mean_confidence, mean_correct, count[filled].astype(np.int64))


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
    """Bootstrap standard error: the standard deviation of `statistic(*arrays)` over resamples with replacement.

    All arrays are resampled with the same indices. With `groups` [n], whole groups are drawn (patients, whose images
    are not independent). Resamples on which the statistic is NaN, such as the AUC of a single class, are dropped; the
    result is NaN if fewer than two remain. The default generator has seed 0.
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


@dataclass(frozen=True)
class Metric:
    """A metric by which the epochs of a trial are judged."""

    name: str
    """Name in a study's `outcomes.metric`."""
    label: str
    """Name in figures and tables."""
    function: MetricFunction | None = None
    """None for a user's metric, which only the user's trainable can compute."""
    range: tuple[float, float] | None = None
    """Lowest and highest possible value; None if unknown."""
    chance: float | None = None
    """Expected value of random guessing; None if unknown or dependent on the number of classes."""
    goal: GoalName | None = None
    """Whether it is maximised or minimised; None for a user's metric, of which only the study knows."""
    objective: str | None = None
    """Name in a study's `search.objective`; None if a search cannot optimise it by such a name."""

    @property
    def useful_range(self) -> tuple[float, float] | None:
        """The finite range between chance, where known, and a perfect value, lower end first."""
        if self.range is None:
            return None
        low, high = self.range
        if self.chance is not None:
            low, high = (low, self.chance) if self.goal == "minimize" else (self.chance, high)
        return (low, high) if math.isfinite(low) and math.isfinite(high) else None


METRICS = {
    metric.name: metric
    for metric in (
        Metric("validation_auc", "validation AUC", multiclass_auc, (0.0, 1.0), 0.5, "maximize", "auc"),
        Metric("validation_accuracy", "validation accuracy", accuracy, (0.0, 1.0), None, "maximize", "accuracy"),
        Metric("validation_nll", "validation NLL", nll, (0.0, math.inf), None, "minimize", "nll"),
        Metric(
            "validation_calibration_error",
            "validation calibration error",
            expected_calibration_error,
            (0.0, 1.0),
            None,
            "minimize",
            "calibration_error",
        ),
        Metric("train_auc", "train AUC", multiclass_auc, (0.0, 1.0), 0.5, "maximize"),
        Metric("train_accuracy", "train accuracy", accuracy, (0.0, 1.0), None, "maximize"),
        Metric("training_auc", "training AUC", multiclass_auc, (0.0, 1.0), 0.5, "maximize"),
        Metric("training_accuracy", "training accuracy", accuracy, (0.0, 1.0), None, "maximize"),
        Metric("training_nll", "training NLL", nll, (0.0, math.inf), None, "minimize"),
    )
}
"""Metrics by which the built-in classification trainable can be judged."""

OBJECTIVES = {metric.objective: name for name, metric in METRICS.items() if metric.objective is not None}
"""Metric behind each objective that a search can name."""


def find_metric(name: str) -> Metric:
    """Return the registered metric, or a record with only a name and a label for a user's own metric."""
    return METRICS.get(name) or Metric(name, name.replace("_", " ").replace("auc", "AUC").replace("nll", "NLL"))


def objective_goal(objective: str | None, of_study: Goal = MAXIMIZE) -> Goal:
    """Return the goal of a search with this `objective`; without one, that of the study's own metric."""
    return of_study if objective is None else find_goal(METRICS[OBJECTIVES[objective]].goal)


def metric_function(name: str) -> MetricFunction:
    """Return the function behind a registered metric; raises ValueError for a user's own."""
    function = find_metric(name).function
    if function is None:
        raise ValueError(f"{name!r} is not a built-in metric: only its trainable can compute it")
    return function


def scores(labels: NDArray[np.int64], probabilities: NDArray[Any]) -> dict[str, float]:
    """Return every registered metric of the mean of probabilities [draws, n, classes].

    The names are those of the validation metrics without their prefix: `auc`, `accuracy`, ...
    """
    mean = predictive_mean(probabilities)
    short_names = {name.removeprefix("validation_"): name for name in METRICS if name.startswith("validation_")}
    return {short: metric_function(name)(labels, mean) for short, name in short_names.items()}
