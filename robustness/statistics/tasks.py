"""Two arms compared over several tasks, each of which is a stratum.

The unit is the configuration within a task: replicates are averaged within it. For an outcome, 0 or 1, task k has n_k
independent pairs (`clusters`), the shares b_k and c_k of which have it in the first or in the second arm only. The
Mantel-Haenszel statistic of discordant pairs and the difference are

    z = sum n_k (b_k - c_k) / sqrt(sum n_k (b_k + c_k)),    d = sum n_k (b_k - c_k) / sum n_k.

Its square has a chi-squared distribution with one degree of freedom under the hypothesis of no difference in any task.
The interval is Tango's with the same counts, whose score at d = 0 is z. The same configuration on two tasks may err to
the same side; with the correlation rho of its differences from the tasks' means, counts are divided by
1 + (m - 1) rho, where m is the number of tasks that a configuration has on average (`correlation`).

Cochran's Q tests whether the differences of the tasks are the same: Q = sum w_k (d_k - d_w)^2, w_k = 1 / var(d_k),
with as many degrees of freedom as there are tasks, less one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from robustness.statistics.clusters import configuration_means, effective_number
from robustness.statistics.means import MeanTest, mean_test
from robustness.statistics.proportions import Interval
from robustness.statistics.score_test import score_interval, score_p


@dataclass(frozen=True)
class Pairs:
    """The pairs of one task: outcomes, 0 or 1, or scores of two arms [p], and the configuration of each [p]."""

    first: ArrayLike
    second: ArrayLike
    owners: ArrayLike


@dataclass(frozen=True)
class StratifiedTest:
    """The difference of two paired fractions over tasks, first minus second."""

    difference: float
    interval: Interval
    p_value: float
    """Of the Mantel-Haenszel test, which the interval inverts."""
    odds_ratio: float | None
    """Mantel-Haenszel's: discordant pairs of the first kind for each of the second; None without the second."""
    effective: float
    """The number of independent pairs that these are worth, over all tasks."""
    correlation: float
    """Of the differences of a configuration on different tasks."""


@dataclass(frozen=True)
class Heterogeneity:
    """Cochran's test of equal differences in all tasks."""

    q: float
    freedom: int
    p_value: float

    @property
    def share(self) -> float:
        """I^2: the share of the variation between tasks that is beyond chance."""
        return max(0.0, 1 - self.freedom / self.q) if self.q > 0 else 0.0


def stratified_test(tasks: Sequence[Pairs]) -> StratifiedTest | None:
    """The Mantel-Haenszel test over the tasks that have pairs; None if none has."""
    strata = [_Stratum.of(pairs) for pairs in tasks if len(np.asarray(pairs.owners))]
    if not strata:
        return None
    pairs = sum(stratum.pairs for stratum in strata)
    first, second = (
        sum(stratum.pairs * getattr(stratum, name) for stratum in strata) / pairs
        for name in ("only_first", "only_second")
    )
    rho = correlation([(stratum.differences, stratum.configurations) for stratum in strata])
    configurations = np.unique(np.concatenate([stratum.configurations for stratum in strata]))
    usual = sum(len(stratum.configurations) for stratum in strata) / len(configurations)
    n = pairs / (1 + (usual - 1) * rho)
    return StratifiedTest(
        first - second,
        score_interval(n * first, n * second, n),
        score_p(n * first, n * second, n),
        first / second if second > 0 else None,
        n,
        rho,
    )


def heterogeneity(tasks: Sequence[Pairs]) -> Heterogeneity | None:
    """Cochran's Q of the tasks that have pairs; None for fewer than two of them.

    The variance of a task's difference has half a pair added to both kinds of discordant pairs: a task without any
    would otherwise count as known exactly.
    """
    strata = [_Stratum.of(pairs) for pairs in tasks if len(np.asarray(pairs.owners))]
    if len(strata) < 2:
        return None
    return cochran([stratum.difference for stratum in strata], [stratum.variance for stratum in strata])


def cochran(estimates: ArrayLike, variances: ArrayLike) -> Heterogeneity:
    """Cochran's Q of estimates [k] with these variances [k]."""
    values, weights = np.asarray(estimates, dtype=float), 1 / np.asarray(variances, dtype=float)
    common = float((weights * values).sum() / weights.sum())
    q = float((weights * (values - common) ** 2).sum())
    return Heterogeneity(q, len(values) - 1, float(chdtrc(len(values) - 1, q)))


def stratified_mean(tasks: Sequence[Pairs], scales: Sequence[float]) -> tuple[float, MeanTest] | None:
    """The mean over tasks of the mean paired difference of scores in units of each task's `scale`, with its test.

    Every configuration counts by the mean of its differences over the tasks, so that whatever it has in common between
    them is allowed for. A task without pairs or without variation is left out; None if all are.
    """
    rows: dict[object, list[float]] = {}
    for pairs, scale in zip(tasks, scales, strict=True):
        if not scale > 0 or not len(np.asarray(pairs.owners)):
            continue
        stratum = _Stratum.of(pairs)
        for configuration, difference in zip(stratum.configurations.tolist(), stratum.differences, strict=True):
            rows.setdefault(configuration, []).append(float(difference) / scale)
    if not rows:
        return None
    means = np.array([np.mean(values) for values in rows.values()])
    return float(means.mean()), mean_test(means)


def correlation(tasks: Sequence[tuple[NDArray[np.float64], NDArray[np.generic]]]) -> float:
    """How alike the differences of a configuration on different tasks are, from 0 to 1.

    `tasks` has for each task the differences [n] and their configurations [n]. The estimate is that of the analysis of
    variance after each task's mean is subtracted, (MSB - MSW) / (MSB + (m - 1) MSW), held within 0 and 1 and shrunk
    towards 1 as in `clusters`: (1 + i rho) / (1 + i) for i configurations with any difference. It is 0 for one task.
    """
    if len(tasks) < 2:
        return 0.0
    centred = np.concatenate([values - values.mean() for values, _ in tasks])
    owners = np.concatenate([configurations for _, configurations in tasks])
    _, numbers, sizes = np.unique(owners, return_inverse=True, return_counts=True)
    k, total = len(sizes), len(centred)
    # The tasks' means were estimated, too.
    freedom = total - k - (len(tasks) - 1)
    if k < 2 or freedom < 1:
        return 1.0
    means = np.bincount(numbers, weights=centred) / sizes
    between = float((sizes * means**2).sum()) / (k - 1)
    within = float(((centred - means[numbers]) ** 2).sum()) / freedom
    usual = (total - float((sizes**2).sum()) / total) / (k - 1)
    spread = between + (usual - 1) * within
    rho = float(np.clip((between - within) / spread, 0.0, 1.0)) if spread > 0 else 1.0
    differing = np.concatenate([values != 0 for values, _ in tasks])
    informative = len(np.unique(numbers[differing]))
    return (1 + informative * rho) / (1 + informative)


@dataclass(frozen=True)
class _Stratum:
    """The pairs of a task, replicates averaged."""

    pairs: float
    """How many independent ones they are worth."""
    only_first: float
    only_second: float
    differences: NDArray[np.float64]
    configurations: NDArray[np.generic]

    @staticmethod
    def of(pairs: Pairs) -> _Stratum:
        a, b = np.asarray(pairs.first, dtype=float), np.asarray(pairs.second, dtype=float)
        owners = np.asarray(pairs.owners)
        return _Stratum(
            effective_number(a - b, owners),
            float(configuration_means((a > b).astype(float), owners).mean()),
            float(configuration_means((b > a).astype(float), owners).mean()),
            configuration_means(a - b, owners),
            np.unique(owners),
        )

    @property
    def difference(self) -> float:
        return self.only_first - self.only_second

    @property
    def variance(self) -> float:
        n = self.pairs + 1
        b, c = self.pairs * self.only_first + 0.5, self.pairs * self.only_second + 0.5
        return ((b + c) / n - ((b - c) / n) ** 2) / n
