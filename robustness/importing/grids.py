"""Full grids: which cells have no run.

Runs are a grid if nearly every combination of the values that occur was run by some arm on some task. With a single
hyperparameter every set of values is a grid, so its values must also be evenly spaced, on a linear or a log scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from robustness.guards.limits import limit
from robustness.importing.assembling import Runs

NEARLY_ALL = 0.8
"""The share of combinations that must occur."""
USUAL = 0.5
"""Seeds are expected in an absent cell if more than this share of the present ones have them."""


@dataclass(frozen=True)
class AbsentCells:
    """The cells of a grid without a run."""

    cells: int
    """How many cells a complete grid would have: arms x tasks x combinations x usual seeds."""
    rows: pd.DataFrame
    """task, configuration, arm and replicate of each absent cell."""
    configurations: list[dict[str, Any]]
    """Combinations that no run has, in the order of their numbers, which follow those of the others."""


def absent_cells(runs: Runs) -> AbsentCells | None:
    """The absent cells, or None if the runs are no grid."""
    codes = {name: level for name, level in runs.levels.items() if level.max(initial=0) > 0}
    sizes = [int(level.max()) + 1 for level in codes.values()]
    combinations = math.prod(sizes)
    arms, tasks = runs.arms, runs.tasks
    if not codes or any((level < 0).any() for level in runs.levels.values()):
        return None
    if len(runs.configurations) < NEARLY_ALL * combinations or combinations * len(arms) * len(tasks) > limit("trials"):
        return None
    if len(codes) == 1 and not _evenly_spaced([next(iter(c[n] for n in codes)) for c in runs.configurations]):
        return None
    numbers = {cell: number for number, cell in enumerate(zip(*(c.tolist() for c in codes.values()), strict=True))}
    new: list[dict[str, Any]] = []
    constant = {name: value for name, value in runs.configurations[0].items() if name not in codes}
    values = {name: _values(runs, name) for name in codes}
    for cell in product(*map(range, sizes)):
        if cell not in numbers:
            numbers[cell] = len(runs.configurations) + len(new)
            new.append({name: values[name][code] for name, code in zip(codes, cell, strict=True)} | constant)
    usual = _usual_replicates(runs)
    whole = pd.MultiIndex.from_product([tasks, sorted(numbers.values()), arms, usual])
    present = pd.MultiIndex.from_frame(runs.frame[["task", "configuration", "arm", "replicate"]])
    # A cell with runs of other seeds is not absent.
    with_runs = pd.MultiIndex.from_frame(runs.frame[["task", "configuration", "arm"]].drop_duplicates())
    lacking = whole[~whole.isin(present) & (~whole.droplevel(3).isin(with_runs) | (len(usual) > 1))]
    rows = lacking.to_frame(index=False)
    rows.columns = pd.Index(["task", "configuration", "arm", "replicate"])
    return AbsentCells(len(whole), rows, new)


def _values(runs: Runs, name: str) -> dict[int, Any]:
    """The value behind each code of a hyperparameter."""
    return {int(code): c[name] for code, c in zip(runs.levels[name], runs.configurations, strict=True)}


def _usual_replicates(runs: Runs) -> list[int]:
    cells = len(runs.frame[["task", "configuration", "arm"]].drop_duplicates())
    counts = runs.frame["replicate"].value_counts()
    return sorted(counts.index[counts > USUAL * cells].tolist()) or [0]


def _evenly_spaced(values: list[Any]) -> bool:
    """Whether numbers are evenly spaced to one percent of their step, or their logarithms are."""
    if len(values) < 3 or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return False
    numbers = np.sort(np.array(values, dtype=float))
    scales = [numbers] + ([np.log(numbers)] if numbers[0] > 0 else [])
    return any(bool(np.ptp(np.diff(scale)) <= 0.01 * np.diff(scale).mean()) for scale in scales)
