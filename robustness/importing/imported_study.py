"""Runs that were made elsewhere, from a CSV file with a row for each run, as a study in the store.

A row has the columns of its configuration, and may have an arm, a metric, a status and a replicate. What Optuna's
`trials_dataframe` writes is known by its `params_` columns, what W&B exports by its bookkeeping columns. Runs of
different arms with the same hyperparameters are a pair; a second run of an arm and configuration is its next replicate.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robustness.errors import RobustnessError, unknown_name
from robustness.trial import EpochResult, Status, Trial, TrialKey

IMPORTED = "imported"
ARM_COLUMNS = ("arm", "method")
METRIC_COLUMNS = ("metric", "value")
STATUS_COLUMNS = ("status", "state", "State")
SECONDS_COLUMNS = ("seconds", "Runtime")
OPTUNA = "params_"
BOOKKEEPING = frozenset(
    (
        *("name", "id", "state", "notes", "user", "tags", "created", "runtime", "sweep", "hostname"),
        *("number", "value", "datetime_start", "datetime_complete", "duration"),
        *("seconds", "status", "replicate"),
    )
)
"""Columns, in small letters, that are never a hyperparameter unless they are asked for."""
STATUSES: dict[str, Status] = {
    **dict.fromkeys(("", "finished", "complete", "completed", "done"), "finished"),
    **dict.fromkeys(("failed", "fail", "crashed", "killed", "error"), "failed"),
    **{name: name for name in ("diverged", "out_of_memory", "timed_out", "pruned")},
    **dict.fromkeys(("running", "waiting", "planned", "pending"), "planned"),
}


@dataclass(frozen=True)
class Columns:
    """Which columns of a file mean what; None is found by its usual name."""

    arm: str | None = None
    metric: str | None = None
    replicate: str | None = None
    hyperparameters: Sequence[str] | None = None


@dataclass(frozen=True)
class Run:
    """One row of a file."""

    key: TrialKey
    hyperparameters: Mapping[str, Any]
    status: Status
    metric: float | None
    """NaN is a result; None is none."""
    seconds: float | None


@dataclass(frozen=True)
class ImportedStudy:
    """What the store needs of a study that no study file describes."""

    name: str
    metric: str
    arms: Sequence[str]
    learned_nothing: float
    good: float
    runs: Sequence[Run] = field(repr=False)

    @property
    def keeps_curves(self) -> bool:
        return False

    def document(self) -> dict[str, Any]:
        replicates = 1 + max((run.key.replicate for run in self.runs), default=0)
        configurations = len({run.key.configuration for run in self.runs})
        return {
            "name": self.name,
            "description": "Runs that were made elsewhere.",
            "trainable": IMPORTED,
            "task": {},
            "model": {},
            "arms": [{"label": arm, "method": arm, "options": {}} for arm in self.arms],
            "space": {},
            "sampling": {"strategy": IMPORTED, "configurations": configurations, "replicates": replicates, "seed": 0},
            "training": {},
            "outcomes": {
                "metric": self.metric,
                "epoch": "best",
                "learned_nothing": {"below": self.learned_nothing, "no_better_than_untrained": None},
                "good": {"at_least": self.good},
                "primary": "learned_nothing",
            },
            "resources": {},
            "reference": None,
            "stop": None,
        }

    @property
    def hash(self) -> str:
        rows = [[*run.key, dict(run.hyperparameters)] for run in self.runs]
        return hashlib.sha256(json.dumps([self.document(), rows], sort_keys=True).encode()).hexdigest()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The plan: every run as a trial."""
        return tuple(
            Trial(
                self.name,
                0,
                run.key.configuration,
                run.key.arm,
                run.key.replicate,
                run.hyperparameters,
                method=run.key.arm,
                metric=self.metric,
                trainable=IMPORTED,
            )
            for run in self.runs
        )

    def results(self) -> Iterable[tuple[Run, EpochResult | None]]:
        """Every run that has ended, with its one epoch if it has a metric."""
        for run in self.runs:
            if run.status != "planned":
                measured = run.metric is not None
                yield run, EpochResult(1, {self.metric: run.metric or 0.0}) if measured else None


def read_runs(
    files: Sequence[tuple[str | None, Path]], name: str, columns: Columns, learned_nothing: float, good: float
) -> ImportedStudy:
    """The study in files, each with its arm's label or None if a column has it; raises RobustnessError in one line."""
    if learned_nothing > good:
        raise RobustnessError(f"--learned-nothing {learned_nothing:g} must not be above --good {good:g}")
    numbers: dict[str, int] = {}
    taken: Counter[tuple[int, str]] = Counter()
    runs: dict[TrialKey, Run] = {}
    metric = ""
    for label, path in files:
        rows = _rows(path)
        names = list(rows[0])
        metric_column = _column(path, names, columns.metric, METRIC_COLUMNS, "metric")
        metric = metric or metric_column
        arm_column = None if label is not None else _column(path, names, columns.arm, ARM_COLUMNS, "arm")
        status_column = next((column for column in STATUS_COLUMNS if column in names), None)
        seconds_column = next((column for column in SECONDS_COLUMNS if column in names), None)
        if columns.replicate is not None:
            _column(path, names, columns.replicate, (), "replicate")
        used = _hyperparameters(path, names, columns, {metric_column, arm_column, columns.replicate})
        for line, row in enumerate(rows, start=2):
            where = f"{path}, line {line}"
            arm = label if arm_column is None else row[arm_column].strip()
            if not arm:
                raise RobustnessError(f"{where}: the column {arm_column!r} names no arm")
            values = {shown: _value(row[column]) for shown, column in used.items() if row[column].strip()}
            number = numbers.setdefault(json.dumps(values, sort_keys=True), len(numbers))
            replicate = _replicate(where, row, columns.replicate, taken[number, arm])
            taken[number, arm] += 1
            key = TrialKey(number, arm, replicate)
            if key in runs:
                raise RobustnessError(f"{where}: configuration and replicate {replicate} of {arm!r} are there already")
            text = row[metric_column].strip()
            runs[key] = Run(
                key,
                values,
                _status(where, row[status_column] if status_column else ""),
                None if not text else _number(where, metric_column, text),
                _seconds(row[seconds_column]) if seconds_column else None,
            )
    study = ImportedStudy(
        name, metric, list(dict.fromkeys(key.arm for key in runs)), learned_nothing, good, tuple(runs.values())
    )
    _check_pairs(study)
    return study


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [{key: value or "" for key, value in row.items() if key} for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RobustnessError(f"{path}: cannot be read as CSV ({getattr(error, 'strerror', None) or error})") from None
    if not rows:
        raise RobustnessError(f"{path}: has no rows below its header")
    return rows


def _column(path: Path, names: Sequence[str], asked: str | None, usual: Sequence[str], what: str) -> str:
    if asked is not None:
        if asked not in names:
            raise RobustnessError(f"{path}: --{what}: {unknown_name('column', asked, names)}")
        return asked
    found = next((name for name in usual if name in names), None)
    if found is None:
        raise RobustnessError(f"{path}: no column {' or '.join(map(repr, usual))}: name it with --{what} COLUMN")
    return found


def _hyperparameters(path: Path, names: Sequence[str], columns: Columns, others: set[str | None]) -> dict[str, str]:
    """From the names that hyperparameters get to their columns."""
    if columns.hyperparameters is not None:
        return {_column(path, names, name, (), "hyperparameters"): name for name in columns.hyperparameters}
    optuna = {name.removeprefix(OPTUNA): name for name in names if name.startswith(OPTUNA)}
    if optuna:
        return {shown: name for shown, name in optuna.items() if name not in others}
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


def _number(where: str, column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise RobustnessError(f"{where}: {column}: {text[:40]!r} is no number") from None


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _status(where: str, text: str) -> Status:
    status = STATUSES.get(text.strip().lower().removeprefix("trialstate."))
    if status is None:
        raise RobustnessError(f"{where}: {unknown_name('status', text, filter(None, STATUSES))}")
    return status


def _replicate(where: str, row: Mapping[str, str], column: str | None, next_one: int) -> int:
    if column is None:
        return next_one
    try:
        return int(row[column])
    except ValueError:
        raise RobustnessError(f"{where}: {column}: {row[column][:40]!r} is no whole number") from None


def _check_pairs(study: ImportedStudy) -> None:
    """Two arms that share no configuration mostly mean that a measure was taken for a hyperparameter."""
    arms: dict[int, set[str]] = {}
    for run in study.runs:
        arms.setdefault(run.key.configuration, set()).add(run.key.arm)
    if len(study.arms) > 1 and max(map(len, arms.values())) == 1:
        names = sorted({name for run in study.runs for name in run.hyperparameters})
        raise RobustnessError(
            f"no configuration occurs in two arms, taking {', '.join(names)} for hyperparameters: "
            "name their columns with --hyperparameters A,B,..."
        )
