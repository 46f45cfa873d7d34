"""What guessing scores: random scorings of the validation set, and the point that few of them exceed.

A guess scores patients at random, the same for all images of a patient: the most that images which look alike can gain
by luck. Guesses in different evaluations are independent, so the best of E of them stays below x with the probability
F(x)^E, and the point that the best of E exceeds with probability `level` is a quantile of a single guess:

    F(x) = (1 - level)^(1 / E)

It is estimated from random guesses. Its Monte Carlo error is stated as the range in which another seed would put it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from robustness.metrics import MetricFunction, accuracy, multiclass_auc

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]

LEAST_DRAWS, MOST_DRAWS = 100_000, 1_000_000
"""Random guesses of the validation set; the more patients it has, the fewer, down to the least."""
ENOUGH_BEYOND = 100
"""Guesses that must lie beyond the quantile; there are more draws if it takes more."""
SLOW_DRAWS = 20_000
"""Random guesses of a metric that is computed one guess at a time."""
PATIENTS, MOST_PATIENTS = 10**8, 10**9
"""Patients scored in all guesses together: as many as take seconds, and the most if the quantile is extreme."""
OTHER_SEED = 3.2905
"""99.9 % of a normal distribution lie within this many standard deviations."""
_CHUNK = 2**20


@dataclass(frozen=True)
class Point:
    """A threshold, and the range in which another seed would put it."""

    value: float
    low: float
    high: float
    draws: int

    def as_note(self) -> dict[str, Any]:
        """The form in which the store keeps it."""
        return {"count": self.draws, "point": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Guesses:
    """The metric of random guesses: `values` [draws], in ascending order."""

    values: Floats
    constant: float
    """The best metric of an answer that is the same for every image, such as the share of the commonest class."""

    def point(self, level: float, evaluations: int) -> Point:
        """The point that the best of so many guesses exceeds with probability `level`; never below a constant one."""
        below = (1 - level) ** (1 / evaluations)
        point = upper_point(self.values, 1 - below)
        value, low, high = (max(end, self.constant) for end in (point.value, point.low, point.high))
        return Point(value, low, high, point.draws)


def upper_point(ordered: Floats, share: float) -> Point:
    """The smallest of the ascending values that at most `share` of them exceed, and where another seed would put it.

    The number of values below another seed's point has the standard deviation sqrt(2 n share (1 - share)): n values
    here and n there. The range is that of `OTHER_SEED` such deviations; it has no upper end within the values if the
    share leaves too few of them above, and then reaches to 1.
    """
    count = len(ordered)
    rank = max(math.ceil(count * (1 - share)), 1)
    wide = OTHER_SEED * math.sqrt(2 * count * share * (1 - share))
    low, high = math.floor(rank - wide), math.ceil(rank + wide)
    top = float(ordered[high - 1]) if high <= count else max(1.0, float(ordered[-1]))
    return Point(float(ordered[rank - 1]), float(ordered[max(low, 1) - 1]), top, count)


def guess(
    labels: NDArray[np.int64],
    patients: NDArray[np.int64],
    metric: MetricFunction,
    extreme: float,
    generator: np.random.Generator,
) -> Guesses:
    """Score a set at random, often enough for the quantile that a share `extreme` of all guesses exceeds."""
    _, patient = np.unique(patients, return_inverse=True)
    classes = int(labels.max()) + 1
    answers = np.eye(classes)
    constant = max(metric(labels, np.tile(answer, (len(labels), 1))) for answer in answers)
    # [patients, classes]: how many images of each class a patient has.
    images = np.zeros((int(patient.max()) + 1, classes), dtype=np.int64)
    np.add.at(images, (patient, labels), 1)
    fast = _FAST.get(metric)
    if fast is None:
        values = np.array([_slow(labels, patient, classes, metric, generator) for _ in range(SLOW_DRAWS)])
    else:
        draws = draws_for(len(images), extreme)
        rows = max(_CHUNK // images.size, 1)
        starts = range(0, draws, rows)
        values = np.concatenate([fast(images, min(rows, draws - start), generator) for start in starts])
    return Guesses(np.sort(values), constant)


def draws_for(patients: int, extreme: float) -> int:
    """How many guesses of so many patients resolve the quantile, within a bound on the work."""
    usual = min(max(PATIENTS // patients, LEAST_DRAWS), MOST_DRAWS)
    return max(usual, min(math.ceil(ENOUGH_BEYOND / extreme), MOST_PATIENTS // patients))


def _auc_of_guesses(images: Counts, draws: int, generator: np.random.Generator) -> Floats:
    """The AUC of class 1 or, with more classes, the mean one-vs-rest AUC of random scores; [draws]."""
    patients, classes = images.shape
    if classes == 2:
        keys = generator.integers(0, 2**64, (draws, patients), dtype=np.uint64)
        return _auc_in_order(_order(keys), images[:, 1], images[:, 0])
    scores = generator.random((draws, patients, classes))
    scores /= scores.sum(axis=2, keepdims=True)
    total = np.zeros(draws)
    for number in range(classes):
        # Positive floats are ordered as their bits are.
        keys = np.ascontiguousarray(scores[:, :, number]).view(np.uint64)
        own = images[:, number]
        total += _auc_in_order(_order(keys), own, images.sum(axis=1) - own)
    mean: Floats = total / classes
    return mean


def _order(keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    """The patients [draws, patients] in ascending order of their keys, whose lowest bits give way to their numbers."""
    patients = keys.shape[1]
    mask = np.uint64((1 << (patients - 1).bit_length()) - 1)
    numbered = (keys & ~mask) | np.arange(patients, dtype=np.uint64)
    # Sorting the numbers themselves is many times faster than sorting their places.
    numbered.sort(axis=1)
    order: NDArray[np.intp] = (numbered & mask).astype(np.intp)
    return order


def _auc_in_order(order: NDArray[np.intp], positive: Counts, negative: Counts) -> Floats:
    """The AUC of patients in ascending order of their scores; images of one patient tie. NaN without both classes."""
    pairs = int(positive.sum()) * int(negative.sum())
    if pairs == 0:
        return np.full(len(order), np.nan)
    others = negative[order].astype(np.float64)
    below = np.cumsum(others, axis=1) - others / 2
    auc: Floats = np.einsum("dp,dp->d", below, positive[order].astype(np.float64)) / pairs
    return auc


def _accuracy_of_guesses(images: Counts, draws: int, generator: np.random.Generator) -> Floats:
    """The accuracy of a random class for each patient, every class equally likely; [draws]."""
    patients, classes = images.shape
    answers = generator.integers(0, classes, (draws, patients))
    accuracies: Floats = images[np.arange(patients), answers].sum(axis=1) / images.sum()
    return accuracies


def _slow(
    labels: NDArray[np.int64],
    patient: NDArray[np.intp],
    classes: int,
    metric: MetricFunction,
    generator: np.random.Generator,
) -> float:
    """One guess of a metric of any kind."""
    scores = generator.random((int(patient.max()) + 1, classes))
    return metric(labels, (scores / scores.sum(axis=1, keepdims=True))[patient])


_FAST: dict[MetricFunction, Callable[[Counts, int, np.random.Generator], Floats]] = {
    multiclass_auc: _auc_of_guesses,
    accuracy: _accuracy_of_guesses,
}
"""Metrics of which many guesses are computed at once."""
