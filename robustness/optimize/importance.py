"""Importance of hyperparameters for reaching the best configurations: PED-ANOVA, as Optuna computes it.

It compares the distribution of a hyperparameter among the best configurations with that among all; a hyperparameter
that only some configurations have is judged within those. Optuna's defaults are set explicitly, since they change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_ABOVE = 5
"""The least number of best configurations for a meaningful result."""
SMALLEST_QUANTILE = 0.1
LARGEST_QUANTILE = 0.5


@dataclass(frozen=True)
class Importance:
    """The importance of each hyperparameter, largest first, as shares that add up to 1; empty if unknown."""

    shares: Mapping[str, float]
    quantile: float
    """The share of configurations that count as the best."""
    why_not: str | None = None
    """The reason if the importance is unknown."""


def importance(configurations: Sequence[Mapping[str, Any]], scores: NDArray[np.float64]) -> Importance:
    """The importance of each hyperparameter for the scores [n]; configurations need not have the same hyperparameters.

    Numbers with more than ten different values are treated as continuous.
    """
    n = len(scores)
    quantile = max(SMALLEST_QUANTILE, LEAST_ABOVE / n) if n else 1.0
    if quantile > LARGEST_QUANTILE:
        return Importance({}, quantile, f"it takes at least {int(LEAST_ABOVE / LARGEST_QUANTILE)} configurations")
    cutoff = np.sort(scores)[::-1][int(np.ceil(quantile * n)) - 1]
    if (scores >= cutoff).mean() > LARGEST_QUANTILE:
        return Importance({}, quantile, "too many configurations tie for the best")
    # Here, because most reports have too few configurations to need Optuna.
    from robustness.optimize.ped_anova import ped_anova

    raw = ped_anova(configurations, scores, quantile)
    whole = sum(raw.values())
    if not whole > 0:
        return Importance({}, quantile, "no hyperparameter varies among the best configurations")
    ordered = sorted(raw.items(), key=lambda item: (-item[1], item[0]))
    return Importance({name: value / whole for name, value in ordered}, quantile)
