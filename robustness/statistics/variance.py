"""Variance components: how much of the variance of scores is due to hyperparameters and how much to the seed.

One-way random-effects model: score_ij = mean + configuration_i + seed_ij. With mean squares between (MSB) and within
(MSW) configurations of r_i replicates,

    seed variance = MSW,   hyperparameter variance = max(0, (MSB - MSW) / r0),   r0 = (N - sum r_i^2 / N) / (k - 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class VarianceParts:
    """Variance components of the scores of one arm."""

    hyperparameters: float
    seed: float

    @property
    def share(self) -> float:
        """Share of the total variance due to hyperparameters; NaN if nothing varies."""
        total = self.hyperparameters + self.seed
        return self.hyperparameters / total if total > 0 else float("nan")


def variance_parts(groups: list[NDArray[np.float64]]) -> VarianceParts | None:
    """Estimate the components from the scores of each configuration; None without replicates or two configurations."""
    filled = [np.asarray(group, dtype=float) for group in groups if len(group)]
    sizes = np.array([len(group) for group in filled], dtype=float)
    k, total = len(filled), float(sizes.sum())
    if k < 2 or total <= k:
        return None
    means = np.array([group.mean() for group in filled])
    grand = float((sizes * means).sum() / total)
    between = float((sizes * (means - grand) ** 2).sum() / (k - 1))
    within = float(sum(((group - mean) ** 2).sum() for group, mean in zip(filled, means, strict=True)) / (total - k))
    r0 = (total - float((sizes**2).sum()) / total) / (k - 1)
    return VarianceParts(max(0.0, (between - within) / r0), within)
