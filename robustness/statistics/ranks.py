"""Average ranks of arms over tasks: Friedman's test, and Nemenyi's critical difference (Demsar 2006).

With the mean ranks R_j of k arms over N tasks, 1 the best and ties sharing their mean rank,

    chi^2 = N sum_j (R_j - (k + 1) / 2)^2 / s^2,    CD = q sqrt(k (k + 1) / (6 N)),

where s^2 = sum_ij (r_ij - (k + 1) / 2)^2 / (N (k - 1)) allows for ties, and q is the 95 % point of the studentised
range for k groups and infinitely many degrees of freedom, over sqrt(2).
Two arms whose mean ranks differ by CD or more are told apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from robustness.statistics.proportions import LEVEL

FEWEST_TASKS = 5
"""With fewer tasks, ranks say nothing about others: a comparison is about these tasks only."""


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of arms, Friedman's test of equal ones, and the critical difference."""

    means: NDArray[np.float64]
    statistic: float
    p_value: float
    critical_difference: float
    tasks: int


def friedman(scores: ArrayLike) -> Ranks | None:
    """Rank arms by their scores [tasks, arms], of which more is better; None for one arm or one task."""
    values = np.asarray(scores, dtype=float)
    if values.ndim != 2 or min(values.shape) < 2:
        return None
    tasks, arms = values.shape
    ranks: NDArray[np.float64] = stats.rankdata(-values, axis=1)
    means: NDArray[np.float64] = ranks.mean(axis=0)
    # The variance of ranks within a task, which ties make smaller.
    spread = float(((ranks - (arms + 1) / 2) ** 2).sum()) / (tasks * (arms - 1))
    statistic = tasks * float(((means - (arms + 1) / 2) ** 2).sum()) / spread if spread > 0 else 0.0
    return Ranks(
        means,
        statistic,
        float(stats.chi2.sf(statistic, arms - 1)) if spread > 0 else 1.0,
        critical_difference(arms, tasks),
        tasks,
    )


def critical_difference(arms: int, tasks: int, level: float = LEVEL) -> float:
    """Nemenyi's critical difference of mean ranks."""
    q = float(stats.studentized_range.ppf(level, arms, np.inf)) / math.sqrt(2)
    return q * math.sqrt(arms * (arms + 1) / (6 * tasks))


def cliques(means: ArrayLike, critical: float) -> list[list[int]]:
    """The largest groups of arms that are not told apart, best first; each lists places in `means` by rank."""
    values = np.asarray(means, dtype=float)
    order = np.argsort(values, kind="stable")
    groups: list[list[int]] = []
    for start in range(len(order)):
        close = [int(arm) for arm in order[start:] if values[arm] - values[order[start]] < critical]
        if len(close) > 1 and not any(set(close) <= set(group) for group in groups):
            groups.append(close)
    return groups
