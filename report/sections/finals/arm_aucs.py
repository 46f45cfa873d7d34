"""The AUCs of an arm's final models, for the test set and for every resample of its patients."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robustness.statistics.nested import Figures, model_weights

GRID = tuple(round(0.05 * step, 2) for step in range(11))
"""Referred fractions of the curves; those of the table are among them."""


@dataclass(frozen=True, eq=False)
class ArmAucs:
    """The AUCs of an arm's models for the test set and its resamples."""

    samples: NDArray[np.float64]
    """[models, 1 + resamples, grid], the test set itself first."""
    searches: tuple[int, ...]
    """The search, from 0, of each model."""

    def by_search(self, values: Iterable[float]) -> Figures:
        """A figure of each model, by search."""
        figures: dict[int, list[float]] = {search: [] for search in self.searches}
        for search, value in zip(self.searches, values, strict=True):
            figures[search].append(float(value))
        return figures

    def at(self, place: int) -> Figures:
        """The AUC of each model on the test set at a place of the grid, by search."""
        return self.by_search(self.samples[:, 0, place])

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The arm's mean, [1 + resamples, grid]: every search counts the same."""
        return np.average(self.samples, axis=0, weights=model_weights(self.searches))


def finite(value: float) -> float | None:
    """The value, or None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None
