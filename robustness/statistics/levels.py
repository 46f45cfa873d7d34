"""Values of hyperparameters at which more or fewer configurations fail than at the others.

Configuration i fails in the share y_i of its trials. At level l of a hyperparameter, the sum is S_l = sum_{i in l} y_i.
Where the hyperparameter does not matter, its levels are exchangeable among the configurations of a block, which share
the choices on which it depends by design, so S_l has the mean

    E_l = sum over blocks of n_lb (mean of y in block b)

and the p-value is the share of permutations within blocks with |S_l - E_l| at least as large. Where every y is 0 or 1,
S_l is a sum of independent hypergeometric numbers, one for each block, and the p-value is exact: with a single block it
is Fisher's, two-sided by the distance of S_l from its mean. With replicates y may lie between, and permutations are
drawn. All levels of all hyperparameters of an arm are one family, corrected by Holm's method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from robustness.statistics.importance import PERMUTATIONS, Design, draws_for
from robustness.statistics.paired import holm

TIE = 1e-9
"""Sums in another order may differ in the last bits."""
FEWEST = 40
"""At least so many permutations for each level that is tested, so that Holm's correction can leave one below 5 %."""


@dataclass(frozen=True)
class LevelTest:
    """One level of a hyperparameter against the configurations at its other levels."""

    name: str
    level: int
    here: float
    """The mean share of failures at the level."""
    elsewhere: float
    """The same at the other levels."""
    excess: float
    """Failures per configuration beyond the mean of the permutations."""
    p_value: float
    p_adjusted: float
    """By Holm over all levels of all hyperparameters."""


def level_tests(
    levels: Mapping[str, NDArray[np.int64]], blocks: Mapping[str, NDArray[np.int64]], failures: ArrayLike, seed: int = 0
) -> list[LevelTest]:
    """Every level against the others, by failures [n]; `levels` and `blocks` as in `importances`.

    Empty where all configurations fail equally often.
    """
    y: NDArray[np.float64] = np.asarray(failures, dtype=float)
    tested = {name: level for name, level in levels.items() if len(np.unique(level[level >= 0])) > 1}
    if not tested or y.min() == y.max():
        return []
    together = sum(len(np.unique(level[level >= 0])) for level in tested.values())
    draws = max(draws_for(len(y), PERMUTATIONS), FEWEST * together)
    rng = np.random.default_rng(seed)
    binary = bool(np.isin(y, (0, 1)).all())
    found: list[tuple[str, int, float, float, float, float]] = []
    for name, level in tested.items():
        block = blocks.get(name, np.zeros(len(y), dtype=np.int64))
        design = Design.of(level, block, y)
        beyond = design.sums - design.expected_sums
        if binary:
            p_values = np.array([_exact(level, block, y, each) for each in np.unique(level[level >= 0])])
        else:
            away = np.abs(design.permuted_sums(draws, rng) - design.expected_sums)
            p_values = (1 + (away >= np.abs(beyond) - TIE).sum(axis=0)) / (draws + 1)
        for at, place in enumerate(np.unique(level[level >= 0]).tolist()):
            here, rest = level == place, (level >= 0) & (level != place)
            excess = float(beyond[at]) / int(here.sum())
            found.append((name, place, float(y[here].mean()), float(y[rest].mean()), excess, float(p_values[at])))
    adjusted = holm([p_value for *_, p_value in found])
    return [LevelTest(*entry, p) for entry, p in zip(found, adjusted, strict=True)]


def _exact(level: NDArray[np.int64], block: NDArray[np.int64], y: NDArray[np.float64], tested: int) -> float:
    """The p-value of a level if every y [n] is 0 or 1."""
    has = level >= 0
    chances, mean = np.ones(1), 0.0
    for each in np.unique(block[has]):
        own = has & (block == each)
        size, drawn, failures = int(own.sum()), int((own & (level == tested)).sum()), int(y[own].sum())
        count = np.arange(drawn + 1)
        chances = np.convolve(chances, _hypergeometric(count, size, failures, drawn))
        mean += drawn * failures / size
    away = np.abs(np.arange(len(chances)) - mean)
    observed = abs(float(y[level == tested].sum()) - mean)
    return min(1.0, float(chances[away >= observed - TIE].sum()))


def _hypergeometric(count: NDArray[np.int64], size: int, failures: int, drawn: int) -> NDArray[np.float64]:
    """The chance of so many failures among `drawn` of `size` configurations, of which so many fail: [count]."""
    possible = (count <= failures) & (drawn - count <= size - failures)
    k = np.where(possible, count, min(failures, drawn))
    logs = _log_choose(failures, k) + _log_choose(size - failures, drawn - k) - _log_choose(size, drawn)
    chances: NDArray[np.float64] = np.where(possible, np.exp(logs), 0.0)
    return chances


def _log_choose(n: int, k: ArrayLike) -> NDArray[np.float64]:
    k = np.asarray(k, dtype=float)
    logs: NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(np.maximum(n - k, 0) + 1)
    return logs
