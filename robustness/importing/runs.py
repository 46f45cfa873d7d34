"""Runs as readers find them: a table, or an `ImportedRun` for each run of a tool that keeps no table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from robustness.errors import RobustnessError
from robustness.guards.limits import check

PARAMETER = "params."
"""The prefix of hyperparameters in a table made from `ImportedRun` records."""
ARM, TASK = "(arm)", "(task)"
"""Columns for an arm and a task that the source states: a label before a file, an Optuna study."""
RUN = "(run)"
"""The column of the frames in `SourceTable.epochs` with the row of the run in `SourceTable.frame`."""


@dataclass(frozen=True)
class ImportedRun:
    """One run of another tool."""

    parameters: Mapping[str, Any]
    measures: Mapping[str, Mapping[int, float]]
    """Each measure by epoch; NaN is a result."""
    status: str = ""
    """In the tool's own words; empty means that the run finished."""
    started: float | None = None
    """Seconds since 1970, as is `ended`."""
    ended: float | None = None
    arm: str | None = None

    def __post_init__(self) -> None:
        for name in (*self.parameters, *self.measures, self.arm or ""):
            if not isinstance(name, str):
                raise TypeError(f"a name must be text, found {name!r}")


@dataclass(frozen=True)
class SourceTable:
    """What one source holds."""

    source: str
    """The file or folder, for messages."""
    kind: str
    """`csv`, `optuna`, `ray`, ..."""
    frame: pd.DataFrame
    """One row for each run; without `epochs` perhaps one row for each epoch."""
    epochs: Mapping[str, pd.DataFrame] | None = None
    """Where the source keeps measures apart from the runs: for each of them the columns `RUN`, `epoch` and `value`."""
    goals: Mapping[str, str] = field(default_factory=dict)
    """The direction of each measure, where the source states it."""
    further: Sequence[str] = ()
    """Measures to store beside the metric."""
    adaptive: bool | None = None
    """Whether configurations depended on earlier results; None if the source does not tell."""
    name: str = ""
    """The arm of all runs, if nothing else says which it is: an experiment's name."""
    arm_is_named: bool = False
    """Whether the user named the arm of all runs, as in `ARM=SOURCE`."""

    def labelled(self, arm: str | None, task: str | None) -> SourceTable:
        """The table with all of its runs in one arm, one task, or both."""
        labels = {name: label for name, label in ((ARM, arm), (TASK, task)) if label is not None}
        named = self.arm_is_named or arm is not None
        return replace(self, frame=self.frame.assign(**labels), arm_is_named=named) if labels else self


def adaptive_together(known: Iterable[bool | None]) -> bool | None:
    """Whether any part was proposed by earlier results; None if none is known to be and some is not known."""
    parts = set(known)
    return True if True in parts else None if None in parts else False


def table_of(
    runs: Sequence[ImportedRun],
    source: str,
    kind: str,
    goals: Mapping[str, str] | None = None,
    further: Sequence[str] = (),
    adaptive: bool | None = None,
    name: str = "",
) -> SourceTable:
    """The table of a tool's runs, with their measures in `epochs`; raises RobustnessError if there are none."""
    if not runs:
        raise RobustnessError(f"{source}: holds no runs")
    check("trials", len(runs), source, RobustnessError)
    names = dict.fromkeys(name for run in runs for name in run.parameters)
    columns: dict[str, Any] = {
        f"{PARAMETER}{name}": pd.Series([run.parameters.get(name) for run in runs], dtype=object) for name in names
    }
    if any(run.arm is not None for run in runs):
        columns[ARM] = [run.arm for run in runs]
    columns["status"] = [run.status for run in runs]
    columns["started"] = [np.nan if run.started is None else run.started for run in runs]
    columns["ended"] = [np.nan if run.ended is None else run.ended for run in runs]
    check("table_columns", len(columns), source, RobustnessError)
    return SourceTable(source, kind, pd.DataFrame(columns), _epochs_of(runs), goals or {}, further, adaptive, name)


def _epochs_of(runs: Sequence[ImportedRun]) -> dict[str, pd.DataFrame]:
    """The epochs of each measure, in the order of the runs."""
    epochs: dict[str, pd.DataFrame] = {}
    for name in dict.fromkeys(name for run in runs for name in run.measures):
        curves = [run.measures.get(name, {}) for run in runs]
        places = np.repeat(np.arange(len(runs)), [len(curve) for curve in curves])
        steps = np.fromiter((step for curve in curves for step in curve), dtype=np.int64, count=len(places))
        values = np.fromiter((value for curve in curves for value in curve.values()), dtype=float, count=len(places))
        epochs[name] = pd.DataFrame({RUN: places, "epoch": steps, "value": values}).sort_values([RUN, "epoch"])
    return epochs
