"""Runs from CSV files with one row for each run.

The hyperparameters are the `params_` columns of an Optuna export (`trials_dataframe`); in other files, all columns but
the arm, the metric and the usual bookkeeping of trackers such as W&B.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustness.errors import RobustnessError, unknown_name
from robustness.importing.imported_study import ImportedRun
from robustness.trial import Status

ARM_COLUMNS = ("arm", "method")
METRIC_COLUMNS = ("metric", "value")
STATUS_COLUMNS = ("status", "state", "State")
SECONDS_COLUMNS = ("seconds", "Runtime")
OPTUNA_PREFIX = "params_"
BOOKKEEPING = frozenset(
    (
        *("name", "id", "state", "notes", "user", "tags", "created", "runtime", "sweep", "hostname"),
        *("number", "value", "datetime_start", "datetime_complete", "duration"),
        *("seconds", "status", "replicate"),
    )
)
"""Columns, in lower case, that are not hyperparameters unless they are named as such."""
STATUSES: dict[str, Status] = {
    **dict.fromkeys(("", "finished", "complete", "completed", "done"), "finished"),
    **dict.fromkeys(("failed", "fail", "crashed", "killed", "error"), "failed"),
    **{name: name for name in ("diverged", "out_of_memory", "timed_out", "pruned")},
    **dict.fromkeys(("running", "waiting", "planned", "pending"), "planned"),
}


@dataclass(frozen=True)
class Columns:
    """The columns of a file by their meaning; None looks for the usual names."""

    arm: str | None = None
    metric: str | None = None
    replicate: str | None = None
    hyperparameters: Sequence[str] | None = None


def read_runs(files: Sequence[tuple[str | None, Path]], columns: Columns) -> tuple[str, list[ImportedRun]]:
    """The name of the metric and the runs of all files; the arm of a file is its label or, if that is None, a column.

    Raises RobustnessError with one line.
    """
    metric = ""
    runs: list[ImportedRun] = []
    for label, path in files:
        rows = _rows(path)
        names = list(rows[0])
        metric_column = _column(path, names, columns.metric, METRIC_COLUMNS, "metric")
        metric = metric or metric_column
        arm_column = None if label is not None else _column(path, names, columns.arm, ARM_COLUMNS, "arm")
        if columns.replicate is not None:
            _column(path, names, columns.replicate, (), "replicate")
        hyperparameters = _hyperparameters(path, names, columns, {metric_column, arm_column, columns.replicate})
        chosen = _Chosen(label, arm_column, metric_column, columns.replicate, hyperparameters)
        runs += _runs_of(path, rows, chosen)
    return metric, runs


@dataclass(frozen=True)
class _Chosen:
    """The columns of one file."""

    label: str | None
    arm: str | None
    metric: str
    replicate: str | None
    hyperparameters: Mapping[str, str]
    """The column of each hyperparameter."""


def _runs_of(path: Path, rows: Sequence[Mapping[str, str]], columns: _Chosen) -> Iterator[ImportedRun]:
    status_column = next((name for name in STATUS_COLUMNS if name in rows[0]), None)
    seconds_column = next((name for name in SECONDS_COLUMNS if name in rows[0]), None)
    for line, row in enumerate(rows, start=2):
        source = f"{path}, line {line}"
        arm = columns.label if columns.arm is None else row[columns.arm].strip()
        if not arm:
            raise RobustnessError(f"{source}: column {columns.arm!r} is empty, so the run has no arm")
        yield ImportedRun(
            arm=arm,
            hyperparameters={
                name: _value(row[column]) for name, column in columns.hyperparameters.items() if row[column].strip()
            },
            status=_status(source, row[status_column] if status_column else ""),
            metric=_metric(source, columns.metric, row[columns.metric].strip()),
            seconds=_seconds(row[seconds_column]) if seconds_column else None,
            replicate=_replicate(source, columns.replicate, row) if columns.replicate else None,
            source=source,
        )


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [{key: value or "" for key, value in row.items() if key} for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RobustnessError(f"{path}: cannot be read as CSV ({getattr(error, 'strerror', None) or error})") from None
    if not rows:
        raise RobustnessError(f"{path}: has no rows below its header")
    return rows


def _column(path: Path, names: Sequence[str], wanted: str | None, usual: Sequence[str], option: str) -> str:
    if wanted is not None:
        if wanted not in names:
            raise RobustnessError(f"{path}: --{option}: {unknown_name('column', wanted, names)}")
        return wanted
    column = next((name for name in usual if name in names), None)
    if column is None:
        whole = f", or give the file as ARM={path.name} if all runs are of one arm" if option == "arm" else ""
        raise RobustnessError(
            f"{path}: no column {' or '.join(map(repr, usual))}; name the column with --{option} COLUMN{whole}"
        )
    return column


def _hyperparameters(path: Path, names: Sequence[str], columns: Columns, others: set[str | None]) -> dict[str, str]:
    """The column of each hyperparameter, by the hyperparameter's name."""
    if columns.hyperparameters is not None:
        return {_column(path, names, name, (), "hyperparameters"): name for name in columns.hyperparameters}
    optuna = {name.removeprefix(OPTUNA_PREFIX): name for name in names if name.startswith(OPTUNA_PREFIX)}
    if optuna:
        return {name: column for name, column in optuna.items() if column not in others}
    kept = [name for name in names if name not in others and not name.startswith("_")]
    return {name: name for name in kept if name.lower() not in BOOKKEEPING}


def _value(text: str) -> Any:
    text = text.strip()
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        return value if math.isfinite(value) else text
    return text


def _metric(source: str, column: str, text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise RobustnessError(f"{source}: {column}: {text[:40]!r} is not a number") from None


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _status(source: str, text: str) -> Status:
    status = STATUSES.get(text.strip().lower().removeprefix("trialstate."))
    if status is None:
        raise RobustnessError(f"{source}: {unknown_name('status', text, filter(None, STATUSES))}")
    return status


def _replicate(source: str, column: str, row: Mapping[str, str]) -> int:
    try:
        return int(row[column])
    except ValueError:
        raise RobustnessError(f"{source}: {column}: {row[column][:40]!r} is not an integer") from None
