"""Results that robustness wrote: the table of `report --format csv` or parquet, and the trials in its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from robustness.errors import RobustnessError
from robustness.guards.limits import read_bytes
from robustness.guards.outputs import GENERATOR
from robustness.importing.runs import ARM, PARAMETER, RUN, TASK, SourceTable
from robustness.importing.tables import parsed_json
from robustness.importing.values import numbers_in

STATE = ("status", "epochs", "best", "best_epoch", "last", "last_epoch", "outcome_best", "outcome_last")
KEY = ("configuration", "replicate", "arm", "task")
METRIC = "metric"
KIND = "robustness"


def is_own_table(frame: pd.DataFrame) -> bool:
    """Whether a table has the columns of robustness' table of results (`report.exports`)."""
    return {*KEY[:3], *STATE} <= set(frame.columns)


def is_own_json(path: Path, start: bytes) -> bool:
    """Whether a file is the JSON of a report."""
    if not start.lstrip().startswith(b"{"):
        return False
    content = read_bytes(path, "runs_bytes", RobustnessError)[:1000]
    return f'"generator": "{GENERATOR}"'.encode() in content


def table_of_own_json(path: Path) -> SourceTable:
    """The trials in the JSON of a report, with its metric, goal and thresholds."""
    document = parsed_json(read_bytes(path, "runs_bytes", RobustnessError), path)
    trials = document.get("trials") if isinstance(document, Mapping) else None
    if not isinstance(trials, list) or not trials or not all(isinstance(row, dict) for row in trials):
        raise RobustnessError(f"{path}: holds no trials; import the CSV of the report, or the store")
    frame = pd.DataFrame({name: pd.Series([row.get(name) for row in trials], dtype=object) for name in trials[0]})
    if not is_own_table(frame):
        raise RobustnessError(f"{path}: its trials lack some of the columns {', '.join((*KEY[:3], *STATE))}")
    metric = str(document.get("metric", METRIC))
    goal = {metric: str(document["goal"])} if document.get("goal") else {metric: "maximize"}
    return table_of_own_results(frame, str(path), metric, goal)


def table_of_own_results(
    frame: pd.DataFrame, source: str, metric: str = METRIC, goals: Mapping[str, str] | None = None
) -> SourceTable:
    """The table as a source: the best and the last epoch of each trial, and its configuration and replicate."""
    hyperparameters = [name for name in frame.columns if name not in (*KEY, *STATE)]
    runs = pd.DataFrame({f"{PARAMETER}{_original(name)}": frame[name] for name in hyperparameters}, index=frame.index)
    runs[ARM] = frame["arm"]
    runs[f"{PARAMETER}replicate"] = frame["replicate"]
    if "task" in frame and (frame["task"].astype(object).fillna("") != "").any():
        runs[TASK] = frame["task"]
    runs["status"] = frame["status"]
    parts = []
    for kind in ("best", "last"):
        values, numbers = numbers_in(frame[kind]), numbers_in(frame[f"{kind}_epoch"])
        known = np.isfinite(numbers)
        parts.append(
            pd.DataFrame({RUN: np.flatnonzero(known), "epoch": numbers[known].astype(np.int64), "value": values[known]})
        )
    epochs = pd.concat(parts).drop_duplicates([RUN, "epoch"]).sort_values([RUN, "epoch"]).reset_index(drop=True)
    return SourceTable(source, KIND, runs, {metric: epochs}, goals or {})


def with_metric(table: SourceTable, name: str | None) -> SourceTable:
    """The table with its metric under another name: robustness' CSV does not state it."""
    epochs = table.epochs or {}
    if table.kind != KIND or name is None or list(epochs) != [METRIC]:
        return table
    return replace(table, epochs={name: epochs[METRIC]})


def _original(name: str) -> str:
    """A hyperparameter's own name: `hp_` stands before one that is also the name of a column."""
    plain = name.removeprefix("hp_")
    return plain if plain in (*KEY, *STATE) else name
