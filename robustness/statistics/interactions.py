"""On which hyperparameter the difference of two arms hangs.

The paired difference d_i of configuration i (of scores, or of outcomes: -1, 0 or 1) does not depend on a hyperparameter
if its values are exchangeable among configurations, which the permutation test of `importance` examines, with d in
place of scores and within the same blocks. The test needs no model of the outcome, so it survives separation: levels at
which every trial of an arm fails. That share of the variance of d is the interaction of arm and hyperparameter.

Two hyperparameters interact if the mean of d in their cells is not the sum of an effect of each. The statistic is

    F = sum over cells of n_c (mean of r in the cell)^2

for the residuals r of the additive least-squares fit; its distribution under no interaction is that of r permuted among
configurations and fitted again (Freedman and Lane 1983).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.importance import Importances, importances
from robustness.statistics.paired import holm

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
PERMUTATIONS = 1999
LEAST_CONFIGURATIONS = 40


@dataclass(frozen=True)
class PairInteraction:
    """Whether the effects of two hyperparameters on the difference add up."""

    names: tuple[str, str]
    explained: float
    """The share of the difference's variance that is in the cells and not in either hyperparameter alone."""
    p_value: float
    p_adjusted: float
    """Holm's, over all pairs of hyperparameters."""


def arm_interactions(
    differences: ArrayLike, levels: Mapping[str, Integers], blocks: Mapping[str, Integers], seed: int = 0
) -> Importances:
    """The interaction of arm and each hyperparameter, from paired differences [n]; `levels` as in `importances`."""
    return importances(levels, blocks, differences, seed)


def pair_interactions(differences: ArrayLike, levels: Mapping[str, Integers], seed: int = 0) -> list[PairInteraction]:
    """Every pair of hyperparameters that share configurations, the smallest p-value first; empty below 40 of them."""
    d: Floats = np.asarray(differences, dtype=float)
    rng = np.random.default_rng(seed)
    found = []
    for names in combinations(levels, 2):
        first, second = (levels[name] for name in names)
        has = (first >= 0) & (second >= 0)
        tested = _additive(d[has], first[has], second[has], rng) if has.sum() >= LEAST_CONFIGURATIONS else None
        if tested is not None:
            found.append((names, *tested))
    adjusted = holm([p_value for _, _, p_value in found])
    entries = [PairInteraction(*entry, p) for entry, p in zip(found, adjusted, strict=True)]
    return sorted(entries, key=lambda entry: entry.p_value)


def _additive(d: Floats, first: Integers, second: Integers, rng: np.random.Generator) -> tuple[float, float] | None:
    """The share explained by cells beyond an additive fit, and its p-value; None where there is nothing to test."""
    one, two = _indicators(first), _indicators(second)
    numbers = first * (int(second.max()) + 1) + second
    variation = float(((d - d.mean()) ** 2).sum())
    if min(one.shape[1], two.shape[1]) < 2 or variation <= 1e-12:
        return None
    design = np.concatenate([one, two], axis=1)
    order = np.argsort(numbers, kind="stable")
    _, starts, counts = np.unique(numbers[order], return_index=True, return_counts=True)
    if len(counts) <= one.shape[1] + two.shape[1] - 1 or len(counts) >= len(d):
        return None
    basis = _orthonormal(design)
    residuals = d - basis @ (basis.T @ d)
    if float((residuals**2).sum()) <= 1e-9 * variation:
        return None
    of_cells = basis[order[starts]]
    observed = float((np.add.reduceat(residuals[order], starts) ** 2 / counts).sum())
    # The fit is constant within a cell, so sums over cells say all of it: of the permuted, and of what its fit leaves.
    sums, shuffled = np.empty((PERMUTATIONS, len(starts))), residuals.copy()
    for row in sums:
        rng.shuffle(shuffled)
        np.add.reduceat(shuffled, starts, out=row)
    fits = sums @ of_cells
    null = ((sums - counts * (fits @ of_cells.T)) ** 2 / counts).sum(axis=1)
    # The additive fit leaves permuted residuals less to explain: compare shares of what is left.
    left = float((residuals**2).sum())
    share = observed / left
    shares = null / np.maximum(left - (fits**2).sum(axis=1), 1e-300)
    p_value = (1 + int((shares >= share - 1e-9).sum())) / (PERMUTATIONS + 1)
    return observed / variation, p_value


def _orthonormal(design: Floats) -> Floats:
    """An orthonormal basis [n, rank] of the columns of the design."""
    left, values, _ = np.linalg.svd(design, full_matrices=False)
    basis: Floats = left[:, values > 1e-9 * values[0]]
    return basis


def _indicators(values: Integers) -> Floats:
    indicators: Floats = (values[:, None] == np.unique(values)).astype(np.float64)
    return indicators
