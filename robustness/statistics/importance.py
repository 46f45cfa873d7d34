"""Importance of hyperparameters: how much each one explains of the differences between configurations, beyond chance.

Scores are replaced by their ranks y. A hyperparameter has n_l of the n configurations at its level l, the sum of their
ranks is S_l, and m = sum_l n_l and S = sum_l S_l are over all configurations that have it. It explains the share

    V = (sum_l S_l^2 / n_l - S^2 / m) / sum_i (y_i - mean y)^2

of the variance. If m = n this is H / (n - 1) of Kruskal and Wallis. V is positive even without an effect: on average it
is M = (levels - 1) / (n - 1). The importance corrects for that as the adjusted R^2 does,

    (V - M) / (1 - M),

so it is zero on average where there is no effect; for one table it is epsilon squared, (H - levels + 1) / (n - levels).

No effect means that a hyperparameter's values are exchangeable within a block: configurations in which it has the same
distribution by design. M is then known exactly, and the p-value is that of V among random permutations within blocks.
The interval is a bootstrap over configurations, shifted so that its mean is the importance, since V exceeds the truth
by about as much as V of a resample exceeds V. It contains zero exactly if the test does not exclude it: where the
bootstrap alone would disagree, the lower end is zero, or the importance less what is still put down to chance.
`benchmarks/importance.py` measures errors of the test, coverage and power.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from robustness.statistics.proportions import LEVEL

SIGNIFICANT = 0.05
LEAST_CONFIGURATIONS = 10
PERMUTATIONS = 1999
RESAMPLES = 999
LEAST_DRAWS = 400
MOST_DRAWN = 2_000_000
"""Large studies get fewer permutations and resamples, at least 400: so many of n configurations that this suffices."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Importance:
    """Importance of one hyperparameter, as a share of the variance of the ranks."""

    explained: float
    """Beyond chance: zero on average without an effect, and so sometimes negative."""
    low: float
    high: float
    """The ends of a 95 % interval of it."""
    raw: float
    """The share before chance is subtracted."""
    chance: float
    """The largest importance that is still put down to chance."""
    p_value: float
    p_adjusted: float
    """By Bonferroni over the hyperparameters that are judged together."""

    @property
    def within_null(self) -> bool:
        """Whether it is not distinguishable from no effect at the 5 % level, all hyperparameters together."""
        return self.p_adjusted >= SIGNIFICANT


@dataclass(frozen=True)
class Importances:
    """Importance of each hyperparameter, largest first; empty if unknown."""

    of: Mapping[str, Importance]
    why_not: str | None = None
    """The reason if the importance is unknown."""
    permutations: int | None = None
    """How many were drawn for each p-value, which is at least 1 / (permutations + 1)."""


def importances(
    levels: Mapping[str, Integers], blocks: Mapping[str, Integers], scores: ArrayLike, seed: int = 0
) -> Importances:
    """Importance of each hyperparameter for the scores [n].

    `levels` has the level of each configuration [n] as an integer, negative where it lacks the hyperparameter; `blocks`
    the number of its block [n]. A hyperparameter without blocks is exchangeable among all configurations that have it.
    """
    values: Floats = np.asarray(scores, dtype=float)
    n = len(values)
    if n < LEAST_CONFIGURATIONS:
        return Importances({}, f"it takes at least {LEAST_CONFIGURATIONS} configurations")
    if values.min() == values.max():
        return Importances({}, "all configurations have the same score")
    judged = {name: level for name, level in levels.items() if len(np.unique(level[level >= 0])) > 1}
    if not judged:
        return Importances({}, "no hyperparameter varies")
    ranks = np.asarray(rankdata(values), dtype=float)
    rng = np.random.default_rng(seed)
    permutations = max(draws_for(n, PERMUTATIONS), 40 * len(judged))
    resamples = _resamples(n, draws_for(n, RESAMPLES), rng)
    one_block = np.zeros(n, dtype=np.int64)
    found = {}
    for name, level in judged.items():
        design = Design.of(level, blocks.get(name, one_block), ranks)
        null = design.without_effect(permutations, rng)
        found[name] = _importance(design, null, resamples, len(judged))
    ordered = dict(sorted(found.items(), key=lambda item: (-item[1].explained, item[0])))
    return Importances(ordered, permutations=permutations)


@dataclass(frozen=True)
class Design:
    """One hyperparameter in the configurations, and their ranks, or another value, y about zero."""

    y: Floats
    """[n]"""
    cell: Floats
    """[n, cells]: 1 where a configuration is in a cell, which is a level within a block; no cell without a level."""
    level: Floats
    """[cells, levels]: 1 where a cell has a level."""
    block: Floats
    """[cells, blocks]: 1 where a cell is in a block."""

    @staticmethod
    def of(level: Integers, block: Integers, ranks: Floats) -> Design:
        has = level >= 0
        pairs, place = np.unique(np.stack([level[has], block[has]]), axis=1, return_inverse=True)
        cell = np.zeros((len(level), pairs.shape[1]))
        cell[np.flatnonzero(has), place.ravel()] = 1.0
        return Design(ranks - ranks.mean(), cell, *(_indicators(numbers) for numbers in pairs))

    def shares(self, weights: Floats) -> tuple[Floats, Floats]:
        """V and its mean under no effect, if configurations occur as often as the weights [draws, n] say: [draws]."""
        count, total = weights @ self.cell, (weights * self.y) @ self.cell
        squares = (weights * self.y**2) @ self.cell
        n, sums = weights.sum(-1), weights @ self.y
        variation = weights @ self.y**2 - sums**2 / n
        level = count @ self.level
        middle = _over(total.sum(-1) ** 2, count.sum(-1))
        between = _over((total @ self.level) ** 2, level).sum(-1) - middle
        # A cell's sum under no effect: so many of its block's ranks, drawn without replacement.
        size, whole = count @ self.block, total @ self.block
        spread = _over(squares @ self.block - _over(whole**2, size), size - 1)
        expected = count * (_over(whole, size) @ self.block.T)
        variance = count * (1 - _over(count, size @ self.block.T)) * (spread @ self.block.T)
        by_chance = _over((expected @ self.level) ** 2 + variance @ self.level, level).sum(-1) - middle
        return _over(between, variation), _over(by_chance, variation)

    @property
    def sums(self) -> Floats:
        """The sum of y at each level: [levels]."""
        sums: Floats = self.y @ self.cell @ self.level
        return sums

    @property
    def expected_sums(self) -> Floats:
        """The mean of the sums over all permutations within blocks: [levels]."""
        count = self.cell.sum(0)
        means = _over((self.y @ self.cell) @ self.block, count @ self.block)
        sums: Floats = (count * (self.block @ means)) @ self.level
        return sums

    def permuted_sums(self, draws: int, rng: np.random.Generator) -> Floats:
        """The sums for random permutations of y within each block: [draws, levels]."""
        sums: Floats = np.zeros((draws, self.level.shape[1]))
        for cells in self.block.T.astype(bool):
            members = self.cell[:, cells].any(axis=1)
            permuted = np.tile(self.y[members], (draws, 1))
            if cells.sum() > 1:
                rng.permuted(permuted, axis=1, out=permuted)
            sums += permuted @ (self.cell[members] @ self.level)
        return sums

    def without_effect(self, draws: int, rng: np.random.Generator) -> Floats:
        """V for random permutations of the ranks within each block: [draws]."""
        sums, count = self.permuted_sums(draws, rng), self.cell.sum(0)
        middle = (self.y @ self.cell).sum() ** 2 / count.sum()
        shares: Floats = ((sums**2 / (count @ self.level)).sum(-1) - middle) / (self.y**2).sum()
        return shares


def _importance(design: Design, null: Floats, resamples: Floats, together: int) -> Importance:
    share, by_chance = (float(value[0]) for value in design.shares(np.ones((1, len(design.y)))))
    # Sums in another order may differ in the last bits.
    p_value = (1 + int((null >= share - 1e-9).sum())) / (len(null) + 1)
    most_exceeding = int(np.ceil(SIGNIFICANT * (len(null) + 1) / together)) - 2
    p_adjusted = min(1.0, together * p_value)
    # Blocks may leave nothing to explain.
    rest = max(1 - by_chance, 1e-9)
    explained = (share - by_chance) / rest
    resampled, resampled_by_chance = design.shares(resamples)
    deviations = _over(resampled - resampled_by_chance, 1 - resampled_by_chance)
    low, high = explained - deviations.mean() + np.quantile(deviations, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    chance = (float(np.sort(null)[-1 - most_exceeding]) - by_chance) / rest
    if p_adjusted >= SIGNIFICANT:
        low = min(low, 0.0)
    elif low <= 0:
        low = explained - chance
    return Importance(
        explained=explained,
        low=float(low),
        high=min(max(float(high), explained), 1.0),
        raw=share,
        chance=chance,
        p_value=p_value,
        p_adjusted=p_adjusted,
    )


def draws_for(n: int, most: int) -> int:
    """How many permutations or resamples of n configurations are drawn: fewer of many."""
    return min(most, max(LEAST_DRAWS, MOST_DRAWN // n))


def _resamples(n: int, draws: int, rng: np.random.Generator) -> Floats:
    """How often each of n configurations occurs in resamples with replacement: [draws, n]."""
    drawn = rng.integers(n, size=(draws, n)) + n * np.arange(draws)[:, None]
    times: Floats = np.bincount(drawn.ravel(), minlength=draws * n).reshape(draws, n).astype(np.float64)
    return times


def _indicators(values: Integers) -> Floats:
    indicators: Floats = (values[:, None] == np.unique(values)).astype(np.float64)
    return indicators


def _over(numerator: Floats, denominator: Floats) -> Floats:
    """The quotient, and 0 where the denominator is not positive."""
    quotient: Floats = np.zeros(np.shape(numerator))
    np.divide(numerator, denominator, out=quotient, where=denominator > 1e-12)
    return quotient
