"""Performance against sensitivity over several tasks (Adkins, Bowling and White 2024).

Scores x_ht of configuration h on task t are oriented so that more is better and normalised within each task by the 5th
and 95th percentiles of all arms' scores on it. An arm's tuned performance and its sensitivity are

    tuned = mean_t max_h x_ht,    sensitivity = tuned - max_h mean_t x_ht:

what it gains from tuning for each task over one common configuration, which must have a score on every task.
Intervals are percentiles of bootstrap samples in which both tasks and configurations are drawn with replacement. For
the difference of two arms on the same configurations, both have the same draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PERCENTILES = (5.0, 95.0)
SAMPLES = 1000


@dataclass(frozen=True)
class Place:
    """An arm's place on the plane; None without a configuration that has a score on every task."""

    tuned: float | None
    common: float | None
    sensitivity: float | None
    common_configuration: int | None
    """The row of the best common configuration."""
    tuned_interval: tuple[float, float] | None = None
    sensitivity_interval: tuple[float, float] | None = None


def normalised(scores: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    """Scores of each arm [configurations, tasks], NaN where there is none, by percentiles of all arms on each task.

    A task on which all scores are equal has 0 for each of them.
    """
    together = np.concatenate(list(scores.values()))
    low, high = (np.array([_percentile(column, at) for column in together.T]) for at in PERCENTILES)
    width = np.where(high > low, high - low, 1.0)
    return {arm: (values - low) / width for arm, values in scores.items()}


def place_of(scores: NDArray[np.float64], samples: int = SAMPLES, seed: int = 0) -> Place:
    """The place of an arm by its normalised scores [configurations, tasks]; NaN where a run failed."""
    tuned, common, chosen = _tuned_and_common(scores)
    if tuned is None:
        return Place(None, None, None, None)
    sensitivity = None if common is None else tuned - common
    drawn = places_drawn(scores, samples, seed) if common is not None else np.empty((0, 2))
    intervals = [interval_of(column) for column in drawn.T]
    return Place(tuned, common, sensitivity, chosen, *intervals)


def places_drawn(scores: NDArray[np.float64], samples: int = SAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """Tuned performance and sensitivity in bootstrap samples, [samples, 2]; NaN in samples without a place.

    Arms with scores of the same shape have the same draws.
    """
    drawn = np.full((samples, 2), np.nan)
    if min(scores.shape) < 2:
        return drawn
    generator = np.random.default_rng(seed)
    for sample in drawn:
        rows = generator.integers(len(scores), size=len(scores))
        columns = generator.integers(scores.shape[1], size=scores.shape[1])
        tuned, common, _ = _tuned_and_common(scores[np.ix_(rows, columns)])
        if tuned is not None and common is not None:
            sample[:] = tuned, tuned - common
    return drawn


def interval_of(drawn: NDArray[np.float64]) -> tuple[float, float] | None:
    """The 95 % percentile interval of draws [samples]; None without any."""
    known = drawn[np.isfinite(drawn)]
    if not known.size:
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


def _tuned_and_common(scores: NDArray[np.float64]) -> tuple[float | None, float | None, int | None]:
    known = np.isfinite(scores)
    if not known.any(axis=0).all():
        return None, None, None
    tuned = float(np.where(known, scores, -np.inf).max(axis=0).mean())
    complete = known.all(axis=1)
    if not complete.any():
        return tuned, None, None
    means = np.where(complete, np.where(known, scores, 0.0).mean(axis=1), -np.inf)
    best = int(np.argmax(means))
    return tuned, float(means[best]), best


def _percentile(column: NDArray[np.float64], at: float) -> float:
    known = column[np.isfinite(column)]
    return float(np.percentile(known, at)) if known.size else 0.0
