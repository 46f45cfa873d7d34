"""Runs from CSV files with one row for each run.

The hyperparameters are the `params_` columns of an Optuna export (`trials_dataframe`); in other files, all columns but
the arm, the metric and the usual bookkeeping of trackers such as W&B.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustness.errors import RobustnessError, shown, unknown_name
from robustness.guards.limits import check
from robustness.guards.printable import escaped
from robustness.guards.tables import Row, is_neutralised, open_table, plain
from robustness.importing.imported_study import ImportedRun
from robustness.study.arms import LONGEST_LABEL, check_label
from robustness.trial import Status

LONGEST_VALUE = 10_000
"""Characters of a hyperparameter's value."""
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
        with open_table(path, RobustnessError) as (names, rows):
            metric_column = _column(path, names, columns.metric, METRIC_COLUMNS, "metric")
            metric = metric or metric_column
            _check_name(metric_column, f"{path}: the column of the metric")
            arm_column = None if label is not None else _column(path, names, columns.arm, ARM_COLUMNS, "arm")
            if columns.replicate is not None:
                _column(path, names, columns.replicate, (), "replicate")
            hyperparameters = _hyperparameters(path, names, columns, {metric_column, arm_column, columns.replicate})
            for name in hyperparameters:
                _check_name(name, f"{path}: the name of a hyperparameter")
            chosen = _Chosen(label, arm_column, metric_column, columns.replicate, hyperparameters)
            before = len(runs)
            runs += _runs_of(path, names, rows, chosen)
        if len(runs) == before:
            raise RobustnessError(f"{path}: has no rows below its header")
        check("table_rows", len(runs), path, RobustnessError)
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


def _runs_of(path: Path, names: Sequence[str], rows: Iterable[Row], columns: _Chosen) -> Iterator[ImportedRun]:
    status_column = next((name for name in STATUS_COLUMNS if name in names), None)
    seconds_column = next((name for name in SECONDS_COLUMNS if name in names), None)
    labels: set[str] = set()
    for line, row in ((row.line, row.cells) for row in rows):
        source = f"{path}, line {line}"
        arm = columns.label if columns.arm is None else plain(row[columns.arm]).strip()
        if not arm:
            raise RobustnessError(f"{source}: column {shown(columns.arm)} is empty, so the run has no arm")
        if arm not in labels:
            check_label(arm, f"{source}: the arm" if columns.arm else "the arm")
            labels.add(arm)
        yield ImportedRun(
            arm=arm,
            hyperparameters={
                name: _value(source, row[column])
                for name, column in columns.hyperparameters.items()
                if row[column].strip()
            },
            status=_status(source, row[status_column] if status_column else ""),
            metric=_metric(source, columns.metric, row[columns.metric].strip()),
            seconds=_seconds(row[seconds_column]) if seconds_column else None,
            replicate=_replicate(source, columns.replicate, row) if columns.replicate else None,
            source=source,
        )


def _check_name(name: str, place: str) -> None:
    """Raise unless a name from a header can be used in a line of text and a table, as one of a study file can."""
    printable = name.isprintable() and escaped(name) == name
    if name != name.strip() or not printable or len(name) > LONGEST_LABEL:
        raise RobustnessError(f"{place}: must be 1 to {LONGEST_LABEL} printable characters, found {shown(name)}")


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


def _value(source: str, cell: str) -> Any:
    """The value in a cell: true, false, a number of at most 64 bits, or text."""
    text = cell.strip()
    if "\0" in text or len(text) > LONGEST_VALUE:
        raise RobustnessError(f"{source}: a value must be at most {LONGEST_VALUE:,} characters, found {shown(text)}")
    if is_neutralised(text):
        return plain(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        fits = math.isfinite(value) if isinstance(value, float) else -(2**63) <= value < 2**63
        return value if fits else text
    return text


def _metric(source: str, column: str, text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise RobustnessError(f"{source}: {column}: {shown(text)} is not a number") from None


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _status(source: str, text: str) -> Status:
    status = STATUSES.get(text.strip().lower().removeprefix("trialstate."))
    if status is None:
        raise RobustnessError(f"{source}: {unknown_name('status', text, filter(None, STATUSES))}")
    return status


def _replicate(source: str, column: str, row: Mapping[str, str]) -> int:
    try:
        number = int(row[column])
    except ValueError:
        number = -1
    if not 0 <= number < 2**31:
        raise RobustnessError(f"{source}: {column}: {shown(row[column])} is not an integer from 0 to 2147483647")
    return number
