"""A plain path: a table of runs, or results that robustness itself wrote, told apart by content."""

from __future__ import annotations

from pathlib import Path

from robustness.errors import RobustnessError
from robustness.guards.limits import is_folder, open_file
from robustness.importing.own_results import is_own_json, is_own_table, table_of_own_json, table_of_own_results
from robustness.importing.runs import SourceTable
from robustness.importing.sources import SourceOptions
from robustness.importing.tables import read_table

SQLITE = b"SQLite format 3\0"


def read(place: str, _options: SourceOptions) -> list[SourceTable]:
    """The table in a CSV, parquet or JSON file; raises RobustnessError with one line for anything else."""
    path = Path(place)
    if is_folder(path):
        raise RobustnessError(f"{path}: is a folder; write ray:{path}, mlflow:{path} or tensorboard:{path}")
    with open_file(path, "runs_bytes", RobustnessError) as file:
        start = file.read(len(SQLITE))
    if start == SQLITE:
        raise RobustnessError(f"{path}: is a database; write optuna:sqlite:///{path} or mlflow:sqlite:///{path}")
    if is_own_json(path, start):
        return [table_of_own_json(path)]
    frame = read_table(path)
    if is_own_table(frame):
        return [table_of_own_results(frame, str(path))]
    return [SourceTable(str(path), "csv", frame)]


def is_database(place: str) -> bool:
    """Whether a path is an SQLite file."""
    path = Path(place)
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except (OSError, ValueError):
        return False
