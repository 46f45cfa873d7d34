"""Tunability: what tuning gains over a default configuration (Probst, Boulesteix and Bischl 2019).

The gain of n random trials is the expected best score among them (`budget`) less the score of the default, each trained
once or, with replicates, as a mean over them. Its interval is a jackknife over configurations with the default
held fixed, up to n = N / 4; the gain of the best of all N has none, since resamples have no better one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.best_of import BEYOND, FEW
from robustness.statistics.budget import expected_best
from robustness.statistics.jackknife import jackknife_interval
from robustness.statistics.proportions import Interval


@dataclass(frozen=True)
class Tunability:
    """The gain of the best of `trials` random trials over the default."""

    trials: int
    gain: float
    interval: Interval


def tunability(scores: ArrayLike, default: float, sizes: list[int]) -> list[Tunability]:
    """The gain over the default's score for each number of trials, from the scores [configurations]."""
    values: NDArray[np.float64] = np.asarray(scores, dtype=float)
    expected = expected_best(values, sizes)
    found = []
    for place, size in enumerate(sizes):
        gain = float(expected[place]) - default
        interval: Interval | None = Interval.none(f"fewer than {FEW} configurations")
        if len(values) >= FEW:
            interval = Interval.none(BEYOND)
            if size <= len(values) / 4:
                without = expected_without_each(values, size) - default
                interval = jackknife_interval(gain, without, "identity")
        found.append(Tunability(size, gain, Interval.none("all scores are equal") if interval is None else interval))
    return found


def expected_without_each(values: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The expected best of `size` without each of the values [N] in turn, which must be more than `size`."""
    return np.array([expected_best(np.delete(values, place), [size])[0] for place in range(len(values))])
