"""How runs pair, and whether a column that was taken for a hyperparameter keeps them from it.

A measure in a table without prefixes looks like a hyperparameter. It gives itself away: without it every run of an arm
is still a configuration of its own, and configurations occur in several arms that did not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustness.errors import plural
from robustness.importing.assembling import Runs
from robustness.importing.options import ImportOptions
from robustness.importing.questions import Question
from robustness.importing.understanding import Understood

MOST_COLUMNS = 40
"""With more guessed hyperparameters only those that arms share least are tried."""


@dataclass(frozen=True)
class Pairs:
    """How many configurations, counted in each task, occur in all arms, in some, and in one alone."""

    all_arms: int
    some_arms: int
    one_arm: int

    @staticmethod
    def of(runs: Runs) -> Pairs:
        arms = runs.frame.groupby(["task", "configuration"])["arm"].nunique()
        everywhere = arms == len(runs.arms)
        return Pairs(
            int(everywhere.sum()), int(((arms > 1) & ~everywhere).sum()), int(((arms == 1) & ~everywhere).sum())
        )

    @property
    def total(self) -> int:
        return self.all_arms + self.some_arms + self.one_arm


def check_guess(runs: Runs, understood: Understood, options: ImportOptions) -> None:
    """Raise Question if more runs would pair without some of the guessed hyperparameters."""
    if understood.certain or len(runs.arms) < 2 or not runs.levels:
        return
    number = runs.frame["configuration"].to_numpy()
    levels = {name: codes[number] for name, codes in runs.levels.items()}
    task, arm = (pd.factorize(runs.frame[name])[0].astype(np.int64) for name in ("task", "arm"))
    within = _combined([arm, task, runs.frame["replicate"].to_numpy() if runs.seeds else np.zeros_like(arm)])
    suspects = _suspects(levels, within, arm, task)
    if not suspects:
        return
    kept = [name for name in levels if name not in suspects]
    before, after = _paired(levels, list(levels), arm, task), _paired(levels, kept, arm, task)
    raise Question(
        runs.source,
        f"is {' or '.join(map(repr, suspects))} a hyperparameter or a measure? As a hyperparameter, it leaves "
        f"{plural(before, 'configuration')} that several arms share; as a measure, {after:,}: say "
        f"{options.named('hyperparameters', ','.join(kept))} if it is a measure, or "
        f"{options.named('hyperparameters', ','.join(levels))} if it is not",
        {"hyperparameters": kept},
    )


def _suspects(
    levels: dict[str, NDArray[np.int64]], within: NDArray[np.int64], arm: NDArray[np.int64], task: NDArray[np.int64]
) -> list[str]:
    """The columns without which more configurations pair, while runs of an arm remain as different as they are."""
    kept = list(levels)
    shared = {name: _shared(levels[name], arm) for name in kept}
    distinct = len(np.unique(_combined([within, *levels.values()])))
    start = best = _paired(levels, kept, arm, task)
    # A column that an arm lacks is a hyperparameter of the others.
    everywhere = [name for name in kept if len(np.unique(arm[levels[name] >= 0])) == len(np.unique(arm))]
    candidates = sorted(everywhere, key=lambda name: shared[name])[:MOST_COLUMNS]
    dropped: list[str] = []
    best_dropped: list[str] = []
    while len(kept) > 1:
        trials = []
        for name in candidates:
            rest = [other for other in kept if other != name]
            _, sizes = np.unique(_combined([within, *(levels[other] for other in rest)]), return_counts=True)
            # As different as before, or repeated equally often: replicates.
            if len(sizes) == distinct or sizes.min() == sizes.max():
                trials.append((-_paired(levels, rest, arm, task), shared[name], name))
        if not trials:
            break
        pairs, _, name = min(trials)
        kept.remove(name)
        candidates.remove(name)
        dropped.append(name)
        if -pairs > best:
            best, best_dropped = -pairs, list(dropped)
    return best_dropped if best > start else []


def _paired(
    levels: dict[str, NDArray[np.int64]], names: Sequence[str], arm: NDArray[np.int64], task: NDArray[np.int64]
) -> int:
    """How many configurations occur in several arms."""
    configuration = _combined([task, *(levels[name] for name in names)])
    cells = np.unique(configuration * (int(arm.max()) + 1) + arm) // (int(arm.max()) + 1)
    return int((np.unique(cells, return_counts=True)[1] > 1).sum())


def _shared(codes: NDArray[np.int64], arm: NDArray[np.int64]) -> float:
    """The share of runs whose value of a column also occurs in another arm."""
    arms = pd.Series(arm).groupby(codes).nunique()
    return float((arms.reindex(codes) > 1).mean())


def _combined(codes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """One code for each combination of several codes, which may be -1."""
    combined = np.zeros(len(codes[0]), dtype=np.int64)
    for each in codes:
        combined = pd.factorize(combined * (int(each.max(initial=0)) + 2) + each + 1)[0].astype(np.int64)
    return combined
