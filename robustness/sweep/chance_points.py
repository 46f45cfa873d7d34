"""Thresholds by cell, and how far they may be off because a cell has a limited number of networks.

A cell has too few networks for a nonparametric 99 % point, so it takes its place and scale from its own networks and
its shape from all networks of its arm. Network i of a cell of n, compared with the other n - 1 of it,

    r_i = (x_i - mean_-i) / (sd_-i sqrt(1 + 1 / (n - 1)))

is as unusual as a new network would be. With N such numbers in an arm, the k-th smallest of them,
k = ceil((1 - level) (N + 1)), is exceeded by a new one with probability at most `level`, if N >= 1 / level - 1. The
threshold of a cell is

    mean + r_(k) sd sqrt(1 + 1 / n)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

REPETITIONS = 200
"""How often the networks of each cell are resampled for the error of its threshold."""


@dataclass(frozen=True)
class CellPoint:
    """A cell's threshold with its 95 % interval over the choice of networks."""

    value: float
    low: float
    high: float
    networks: int

    @staticmethod
    def of(value: float, repeated: Sequence[float], networks: int) -> CellPoint:
        """A threshold with the interval of its repetitions over resampled networks, which contains it."""
        low, high = np.quantile(repeated, (0.025, 0.975))
        return CellPoint(value, min(float(low), value), max(float(high), value), networks)

    def as_note(self) -> dict[str, Any]:
        """The form in which the store keeps it."""
        return {"value": self.value, "low": self.low, "high": self.high, "networks": self.networks}

    def at_least(self, floor: CellPoint) -> CellPoint:
        """The higher of two thresholds, and of the ends of their errors."""
        value, low, high = max(self.value, floor.value), max(self.low, floor.low), max(self.high, floor.high)
        return CellPoint(value, low, high, self.networks)


def cell_points(
    scores: Floats, cells: Sequence[str], arms: Sequence[str], level: float, generator: np.random.Generator
) -> dict[str, CellPoint]:
    """The threshold of each cell; `scores`, `cells` and `arms` [networks]."""
    points = {}
    names, owners = np.array(cells), np.array(arms)
    for arm in dict.fromkeys(arms):
        own = {cell: scores[names == cell] for cell in dict.fromkeys(names[owners == arm].tolist())}
        found = _points_of_arm(own, level)
        repeated = [
            _points_of_arm({cell: _redrawn(values, generator) for cell, values in own.items()}, level)
            for _ in range(REPETITIONS)
        ]
        for cell, value in found.items():
            points[cell] = CellPoint.of(value, [each[cell] for each in repeated], len(own[cell]))
    return points


def _redrawn(values: Floats, generator: np.random.Generator) -> Floats:
    return values[generator.integers(len(values), size=len(values))]


def _points_of_arm(cells: dict[str, Floats], level: float) -> dict[str, float]:
    """The threshold of each cell of an arm; a cell without variation has that one value."""
    unusual = np.sort(np.concatenate([_leave_one_out(values) for values in cells.values()]))
    rank = min(math.ceil((1 - level) * (len(unusual) + 1)), len(unusual))
    factor = float(unusual[rank - 1])
    points = {}
    for cell, values in cells.items():
        scale = float(values.std(ddof=1)) * math.sqrt(1 + 1 / len(values)) if len(values) > 1 else 0.0
        points[cell] = float(np.clip(values.mean() + factor * scale, 0.0, 1.0))
    return points


def _leave_one_out(values: Floats) -> Floats:
    """How unusual each value [n] is among the others; 0 where they do not vary."""
    count = len(values)
    if count < 3:
        return np.zeros(count)
    total, squares = values.sum(), (values**2).sum()
    means = (total - values) / (count - 1)
    variances = np.maximum((squares - values**2) / (count - 1) - means**2, 0.0) * (count - 1) / (count - 2)
    scales = np.sqrt(variances * (1 + 1 / (count - 1)))
    unusual: Floats = np.divide(values - means, scales, out=np.zeros(count), where=scales > 1e-12)
    return unusual
