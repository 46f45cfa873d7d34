"""Runs of Optuna: its database, opened for reading and never upgraded, or its journal file.

Every study is an arm. Intermediate values are the curve of the objective where each trial ends at its last one, and
stand beside it as `intermediate` where they do not.
"""

from __future__ import annotations

import datetime
import importlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from robustness.errors import RobustnessError, unknown_name
from robustness.guards.limits import is_file
from robustness.importing.files import is_database
from robustness.importing.foreign_databases import ForeignDatabase, reading
from robustness.importing.optuna_trials import ENQUEUED, OptunaStudy, OptunaTrial, is_adaptive, proposed_adaptively
from robustness.importing.runs import ImportedRun, SourceTable, table_of
from robustness.importing.sources import SourceOptions

VALUE, INTERMEDIATE = "value", "intermediate"
_NUMBERS = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan}


def read(place: str, options: SourceOptions) -> list[SourceTable]:
    """The studies of a database or journal file as one table."""
    if is_file(Path(place)) and not is_database(place):
        # Optuna itself replays its journal; its databases are read without it.
        journal = importlib.import_module("robustness.importing.optuna_journal")
        studies, source = journal.read_journal(Path(place), options.studies), place
    else:
        with reading(f"sqlite:///{place}" if is_file(Path(place)) else place) as database:
            studies, source = _read_database(database, options.studies), database.source
    if not any(study.trials for study in studies):
        raise RobustnessError(f"{source}: holds no trials")
    # A single study that the user asks for is the one arm that is meant.
    return [replace(_table(studies, source), arm_is_named=len(options.studies) == 1)]


def chosen(names: Iterable[str], wanted: Sequence[str], source: str) -> list[str]:
    """The studies to read: those that are wanted, or all; raises RobustnessError for an unknown one."""
    known = list(names)
    for name in wanted:
        if name not in known:
            raise RobustnessError(f"{source}: --source-study: {unknown_name('study', name, known)}")
    return list(wanted) or known


def _table(studies: Sequence[OptunaStudy], source: str) -> SourceTable:
    goals = _goals(studies, source)
    trials = [(study.name, trial) for study in studies for trial in study.trials]
    ends_there = all(_ends_at_last(trial) for _, trial in trials if trial.state == "COMPLETE")
    runs = []
    for name, trial in trials:
        last = max(trial.intermediate, default=1)
        measures: dict[str, dict[int, float]] = {
            measure: {last: value} for measure, value in zip(goals, trial.values, strict=False)
        }
        if trial.intermediate and ends_there and len(goals) == 1:
            measures = {VALUE: dict(trial.intermediate)}
        elif trial.intermediate:
            measures[INTERMEDIATE] = dict(trial.intermediate)
        runs.append(ImportedRun(trial.parameters, measures, trial.state.lower(), trial.started, trial.ended, name))
    return table_of(runs, source, "optuna", goals, [INTERMEDIATE], proposed_adaptively(studies))


def _goals(studies: Sequence[OptunaStudy], source: str) -> dict[str, str]:
    """The direction of each objective, by its name; raises RobustnessError if studies differ."""
    directions = studies[0].directions
    for study in studies:
        if study.directions != directions:
            raise RobustnessError(
                f"{source}: studies {studies[0].name!r} and {study.name!r} have different directions; choose "
                "studies with --source-study"
            )
    names = [VALUE] if len(directions) == 1 else [f"values_{place}" for place in range(len(directions))]
    return {name: direction for name, direction in zip(names, directions, strict=True) if direction != "not_set"}


def _ends_at_last(trial: OptunaTrial) -> bool:
    """Whether a trial's objective is the last value that it reported, or it reported none."""
    if not trial.intermediate or len(trial.values) != 1:
        return not trial.intermediate
    return trial.intermediate[max(trial.intermediate)] == trial.values[0]


def _read_database(database: ForeignDatabase, wanted: Sequence[str]) -> list[OptunaStudy]:
    if not database.has("trials", "study_id") or not database.has("studies", "study_name"):
        raise RobustnessError(f"{database.source}: is not a database of Optuna")
    numbers = {row.study_name: row.study_id for row in database.rows("SELECT study_id, study_name FROM studies")}
    return [
        OptunaStudy(
            name,
            _directions(database, numbers[name]),
            _trials(database, numbers[name]),
            _attributes(database, numbers[name]),
        )
        for name in chosen(numbers, wanted, database.source)
    ]


def _attributes(database: ForeignDatabase, study: int) -> dict[str, str]:
    """What the user noted on a study, as JSON."""
    if not database.has("study_user_attributes"):
        return {}
    query = 'SELECT "key", value_json FROM study_user_attributes WHERE study_id = :study'
    return {str(row.key): str(row.value_json) for row in database.rows(query, study=study)}


def _directions(database: ForeignDatabase, study: int) -> list[str]:
    if database.has("study_directions"):
        query = "SELECT direction FROM study_directions WHERE study_id = :study ORDER BY objective"
    else:  # before Optuna 2.4
        query = "SELECT direction FROM studies WHERE study_id = :study"
    return [str(row.direction).lower() for row in database.rows(query, study=study)]


def _trials(database: ForeignDatabase, study: int) -> list[OptunaTrial]:
    """The trials of a study in their order."""
    parameters: dict[int, dict[str, Any]] = defaultdict(dict)
    for row in _of_trials(database, study, "trial_params", "param_name, param_value, distribution_json"):
        parameters[row.trial_id][row.param_name] = _parameter(row.param_value, row.distribution_json, database.source)
    values: dict[int, list[float]] = defaultdict(list)
    objective = "objective" if database.has("trial_values", "objective") else "trial_id"
    for row in _of_trials(database, study, "trial_values", _typed(database, "trial_values", "value"), objective):
        values[row.trial_id].append(_number(row.value, row.kind))
    steps: dict[int, dict[int, float]] = defaultdict(dict)
    if database.has("trial_intermediate_values"):
        what = f"step, {_typed(database, 'trial_intermediate_values', 'intermediate_value')}"
        for row in _of_trials(database, study, "trial_intermediate_values", what, "step"):
            steps[row.trial_id][row.step] = _number(row.value, row.kind)
    keys: dict[int, list[str]] = defaultdict(list)
    for row in _of_trials(database, study, "trial_system_attributes", '"key"'):
        keys[row.trial_id].append(str(row.key))
    columns = "trial_id, state, datetime_start, datetime_complete"
    query = f"SELECT {columns} FROM trials WHERE study_id = :study ORDER BY trial_id"  # noqa: S608 - names of ours
    return [
        OptunaTrial(
            str(row.state),
            parameters[row.trial_id],
            values[row.trial_id],
            steps[row.trial_id],
            _moment(row.datetime_start),
            _moment(row.datetime_complete),
            is_adaptive(keys[row.trial_id]),
            ENQUEUED in keys[row.trial_id],
        )
        for row in database.rows(query, study=study)
    ]


def _of_trials(database: ForeignDatabase, study: int, table: str, what: str, order: str = "trial_id") -> Sequence[Any]:
    if not database.has(table):
        return []
    named = ", ".join(f"own.{column.strip()}" if "AS" not in column else column.strip() for column in what.split(","))
    return database.rows(
        f"SELECT own.trial_id, {named} FROM {table} AS own JOIN trials ON trials.trial_id = own.trial_id "  # noqa: S608 - names of ours
        f"WHERE trials.study_id = :study ORDER BY own.trial_id, own.{order}",
        study=study,
    )


def _typed(database: ForeignDatabase, table: str, column: str) -> str:
    """A column of numbers and that of its kind, which Optuna has had since 3.0."""
    kind = f"own.{column}_type" if database.has(table, f"{column}_type") else "'FINITE'"
    return f"own.{column} AS value, {kind} AS kind"


def _number(value: float | None, kind: str) -> float:
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    return math.nan if value is None else float(value)


def _parameter(value: float, distribution: str, source: str) -> Any:
    """A parameter's own value; choices are stored by their number, and None is a choice like another."""
    try:
        kind = json.loads(distribution)
        name, attributes = kind["name"], kind["attributes"]
        if name == "CategoricalDistribution":
            choice = attributes["choices"][int(value)]
            return "None" if choice is None else choice
        return int(value) if name.startswith("Int") else float(value)
    except (ValueError, KeyError, TypeError, IndexError) as problem:
        raise RobustnessError(f"{source}: a parameter cannot be read ({problem})") from None


def _moment(value: Any) -> float | None:
    """A local time of Optuna's as seconds since 1970."""
    if value is None:
        return None
    moment = value if isinstance(value, datetime.datetime) else datetime.datetime.fromisoformat(str(value))
    return moment.timestamp()
