"""Runs of MLflow: a folder `mlruns`, or `sqlite:///mlflow.db`, both read as they are, without the package."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from robustness.errors import RobustnessError, unknown_name
from robustness.guards.limits import check, is_file, is_folder, limit, read_bytes
from robustness.importing.files import is_database
from robustness.importing.foreign_databases import ForeignDatabase, reading
from robustness.importing.runs import ImportedRun, SourceTable, table_of
from robustness.importing.sources import SourceOptions

META = "meta.yaml"
STATUSES = {1: "running", 2: "scheduled", 3: "finished", 4: "failed", 5: "killed"}
"""The numbers of MLflow's statuses in files."""


def read(place: str, options: SourceOptions) -> list[SourceTable]:
    """The runs of an experiment; raises RobustnessError with one line, naming the experiments if there are several."""
    if place.startswith(("http://", "https://", "databricks")):
        raise RobustnessError(
            "a tracking server is not read directly: load its runs with mlflow.search_runs(experiment_names=[...]) and "
            "pass the frame to robustness.from_dataframe"
        )
    place = place.removeprefix("file://")
    if is_folder(Path(place)):
        return [_read_folder(Path(place), options.experiment)]
    if is_file(Path(place)) and is_database(place):
        place = f"sqlite:///{place}"
    if "://" not in place:
        raise RobustnessError(f"{place}: no such folder or database of MLflow")
    with reading(place) as database:
        return [_read_database(database, options.experiment)]


def _chosen(experiments: Mapping[str, Any], wanted: str | None, source: object) -> str:
    """The name of the experiment to read, of those that have runs."""
    if wanted is not None:
        if wanted not in experiments:
            raise RobustnessError(f"{source}: --experiment: {unknown_name('experiment', wanted, experiments)}")
        return wanted
    if not experiments:
        raise RobustnessError(f"{source}: holds no experiment of MLflow with runs")
    if len(experiments) > 1:
        raise RobustnessError(
            f"{source}: which experiment? name it with --experiment (it has: {', '.join(sorted(experiments))})"
        )
    return next(iter(experiments))


def _read_folder(folder: Path, wanted: str | None) -> SourceTable:
    experiments = {}
    for meta in sorted(folder.glob(f"*/{META}")):
        about = _yaml(meta)
        if about.get("lifecycle_stage") != "deleted" and any(meta.parent.glob(f"*/{META}")):
            experiments[str(about.get("name", meta.parent.name))] = meta.parent
    name = _chosen(experiments, wanted, folder)
    runs, values = [], 0
    for meta in sorted(experiments[name].glob(f"*/{META}")):
        about = _yaml(meta)
        if about.get("lifecycle_stage") == "deleted":
            continue
        measures = {}
        for path, key in _named_files(meta.parent / "metrics"):
            measures[key] = _curve(path)
            values += len(measures[key])
        check("runs_rows", values, folder, RobustnessError)
        parameters = {key: _text(path) for path, key in _named_files(meta.parent / "params")}
        status = STATUSES.get(about.get("status"), str(about.get("status")))  # type: ignore[arg-type]
        runs.append((about, ImportedRun(parameters, measures, status, *_span(about))))
    runs.sort(key=lambda run: (run[0].get("start_time") or 0, str(run[0].get("run_id"))))
    return table_of([run for _, run in runs], f"{folder} ({name})", "mlflow", name=name)


def _named_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """The files below a folder with their names; a name with a slash is in a folder of its own."""
    for count, path in enumerate(sorted(folder.rglob("*")) if is_folder(folder) else (), start=1):
        check("run_files", count, folder, RobustnessError)
        if is_file(path):
            yield path, path.relative_to(folder).as_posix()


def _curve(path: Path) -> dict[int, float]:
    """A metric by step: lines of `timestamp value step`; of a step that was logged twice the later value counts."""
    curve: dict[int, float] = {}
    for number, line in enumerate(_text(path).splitlines(), start=1):
        words = line.split()
        try:
            curve[int(words[2]) if len(words) > 2 else 0] = float(words[1])
        except (ValueError, IndexError):
            raise RobustnessError(f"{path}, line {number}: is not `timestamp value step`") from None
        if number > limit("runs_rows"):
            check("runs_rows", number, path, RobustnessError)
    return _from_zero(curve)


def _text(path: Path) -> str:
    return read_bytes(path, "runs_bytes", RobustnessError).decode("utf-8", "replace")


def _yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(read_bytes(path, "study_bytes", RobustnessError))
    except yaml.YAMLError:
        content = None
    if not isinstance(content, dict):
        raise RobustnessError(f"{path}: is not the description of an experiment or run of MLflow")
    return content


def _span(about: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Start and end in seconds; MLflow has milliseconds."""
    start, end = (about.get(f"{name}_time") for name in ("start", "end"))
    return (
        start / 1000 if isinstance(start, int) else None,
        end / 1000 if isinstance(end, int) else None,
    )


def _from_zero(curve: dict[int, float]) -> dict[int, float]:
    """The curve; steps below zero, which MLflow allows, are counted from zero."""
    lowest = min(curve, default=0)
    return curve if lowest >= 0 else {step - lowest: value for step, value in curve.items()}


def _read_database(database: ForeignDatabase, wanted: str | None) -> SourceTable:
    if not database.has("experiments", "name") or not database.has("runs", "run_uuid"):
        raise RobustnessError(f"{database.source}: is not a database of MLflow")
    found = database.rows(
        "SELECT experiments.name, experiments.experiment_id FROM experiments JOIN runs ON runs.experiment_id = "
        "experiments.experiment_id WHERE runs.lifecycle_stage <> 'deleted' AND "
        "experiments.lifecycle_stage <> 'deleted' GROUP BY experiments.name, experiments.experiment_id"
    )
    experiments = {row.name: row.experiment_id for row in found}
    name = _chosen(experiments, wanted, database.source)
    number = experiments[name]
    # Only names of ours are put into these texts; the experiment is a bound parameter.
    chosen = "JOIN runs ON runs.run_uuid = own.run_uuid WHERE runs.experiment_id = :number"
    active = "runs.lifecycle_stage <> 'deleted'"
    columns = 'own.run_uuid, own."key", own.value'
    parameters: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in database.rows(f"SELECT {columns} FROM params AS own {chosen} AND {active}", number=number):  # noqa: S608
        parameters[row.run_uuid][row.key] = row.value
    measures: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    query = f"SELECT {columns}, own.step, own.is_nan FROM metrics AS own {chosen} AND {active}"  # noqa: S608
    for row in database.rows(f"{query} ORDER BY own.timestamp", number=number):
        measures[row.run_uuid][row.key][int(row.step)] = math.nan if row.is_nan else float(row.value)
    runs = [
        ImportedRun(
            parameters[row.run_uuid],
            {key: _from_zero(curve) for key, curve in measures[row.run_uuid].items()},
            str(row.status),
            *_span({"start_time": row.start_time, "end_time": row.end_time}),
        )
        for row in database.rows(
            "SELECT run_uuid, status, start_time, end_time FROM runs WHERE experiment_id = :number AND "
            "lifecycle_stage <> 'deleted' ORDER BY start_time, run_uuid",
            number=number,
        )
    ]
    return table_of(runs, f"{database.source} ({name})", "mlflow", name=name)
