"""Variance components: how much of the variance of scores is due to tasks, to hyperparameters and to the seed.

One-way random-effects model: score_ij = mean + configuration_i + seed_ij. With mean squares between (MSB) and within
(MSW) configurations of r_i replicates,

    seed variance = MSW,   hyperparameter variance = max(0, (MSB - MSW) / r0),   r0 = (N - sum r_i^2 / N) / (k - 1).

With several tasks, configurations are nested in them: score_tij = mean + task_t + configuration_ti + seed_tij. Mean
squares within tasks are pooled over these, and the variance of the tasks' means, less what configurations and seeds
contribute to it, is the task's:

    task variance = max(0, var(m_t) - mean over t of s_t^2 / k_t),    s_t^2: variance of the k_t configurations' means.
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


@dataclass(frozen=True)
class NestedParts:
    """Variance components of the scores of one arm over several tasks."""

    task: float
    hyperparameters: float
    seed: float | None
    """None without replicates: then it is part of `hyperparameters`."""


def nested_parts(tasks: list[list[NDArray[np.float64]]]) -> NestedParts | None:
    """Estimate the components from the scores of each configuration of each task; None for fewer than two of either.

    The mean of a task is that of its configurations' means, whose variance within the task also says how far it may be
    off.
    """
    filled = [[np.asarray(group, dtype=float) for group in task if len(group)] for task in tasks]
    filled = [task for task in filled if len(task) > 1]
    if len(filled) < 2:
        return None
    means = [np.array([group.mean() for group in task]) for task in filled]
    between_tasks = float(np.var([task.mean() for task in means], ddof=1))
    errors = [float(task.var(ddof=1)) / len(task) for task in means]
    freedom = sum(len(task) - 1 for task in means)
    of_means = sum(float(((task - task.mean()) ** 2).sum()) for task in means) / freedom
    groups = [group for task in filled for group in task]
    replicated = sum(len(group) - 1 for group in groups)
    task_part = max(0.0, between_tasks - float(np.mean(errors)))
    if not replicated:
        return NestedParts(task_part, of_means, None)
    seed = sum(float(((group - group.mean()) ** 2).sum()) for group in groups) / replicated
    of_seed = seed * float(np.mean([1 / len(group) for group in groups]))
    return NestedParts(task_part, max(0.0, of_means - of_seed), seed)
