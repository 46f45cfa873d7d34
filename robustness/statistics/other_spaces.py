"""What the difference of two arms would be in another search space: fewer levels, or levels with other shares.

A group G of levels of a hyperparameter has the share w of another space. Post-stratified, the difference there is

    d(w) = w d_G + (1 - w) d_rest,

a straight line from the sub-space without G to that with G alone. Its interval is that of `strata` with the weights w
and 1 - w. At w = 0 and w = 1 it is the comparison on the configurations of one side alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.strata import WeightedEstimate, weighted_difference

SHARES = tuple(round(0.1 * step, 1) for step in range(11))
LEAST_CONFIGURATIONS = 5
"""A side with fewer configurations is not extrapolated from."""


@dataclass(frozen=True)
class Split:
    """The levels of an ordered hyperparameter from one on, or one level of an unordered one, against the rest."""

    group: tuple[int, ...]
    without: float
    """The difference where no configuration is in the group."""
    within: float
    """The difference where all are."""

    @property
    def reach(self) -> float:
        return abs(self.within - self.without)


def splits(differences: ArrayLike, levels: ArrayLike, ordered: bool) -> list[Split]:
    """Every split of levels [n] with at least 5 configurations on each side, the widest reach first.

    Differences [n] are those of configurations; a negative level is none, and such configurations are left out.
    """
    level: NDArray[np.int64] = np.asarray(levels, dtype=np.int64)
    d: NDArray[np.float64] = np.asarray(differences, dtype=float)[level >= 0]
    level = level[level >= 0]
    present = np.unique(level).tolist()
    groups = [tuple(present[at:]) for at in range(1, len(present))] if ordered else [(each,) for each in present]
    found = []
    for group in groups:
        inside = np.isin(level, group)
        if min(inside.sum(), (~inside).sum()) >= LEAST_CONFIGURATIONS:
            found.append(Split(group, float(d[~inside].mean()), float(d[inside].mean())))
    return sorted(found, key=lambda split: -split.reach)


def reweighted(
    first: ArrayLike, second: ArrayLike, owners: ArrayLike, inside: ArrayLike, shares: Sequence[float] = SHARES
) -> list[WeightedEstimate]:
    """The difference of outcomes [pairs], first minus second, for each share of those `inside` [pairs]."""
    stratum = np.asarray(inside, dtype=bool).astype(np.int64)
    found = []
    for share in shares:
        # With no weight on one side, its pairs must not enter the effective number either.
        keep = np.ones(len(stratum), dtype=bool) if 0 < share < 1 else stratum == int(share)
        a, b, own = (np.asarray(values)[keep] for values in (first, second, owners))
        places, weights = (stratum, [1 - share, share]) if 0 < share < 1 else (np.zeros(len(a), dtype=np.int64), [1.0])
        found.append(weighted_difference(a, b, own, places, weights))
    return found
