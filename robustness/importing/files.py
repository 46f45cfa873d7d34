"""A plain path: a table of runs, results that robustness itself wrote, or a whole study, told apart by content."""

from __future__ import annotations

from pathlib import Path

from robustness.errors import RobustnessError
from robustness.guards.limits import is_file, is_folder, open_file
from robustness.guards.outputs import ARCHIVE_ENDING, starts_archive
from robustness.importing.own_results import is_own_json, is_own_table, table_of_own_json, table_of_own_results
from robustness.importing.runs import SourceTable
from robustness.importing.sources import SourceOptions
from robustness.importing.tables import read_table

SQLITE = b"SQLite format 3\0"
HEAD = 1_000
"""Bytes at the start of a file that tell what it is."""


def read(place: str, _options: SourceOptions) -> list[SourceTable]:
    """The table in a CSV, parquet or JSON file; raises RobustnessError with one line for anything else."""
    path = Path(place)
    if is_folder(path):
        raise RobustnessError(f"{path}: is a folder; write ray:{path}, mlflow:{path} or tensorboard:{path}")
    with open_file(path, "runs_bytes", RobustnessError) as file:
        start = file.read(len(SQLITE))
    if start == SQLITE:
        raise RobustnessError(f"{path}: is a database; write optuna:sqlite:///{path} or mlflow:sqlite:///{path}")
    if is_archive(place):
        raise RobustnessError(f"{path}: is the archive of a study; import it by itself, without an arm")
    if is_own_json(path, start):
        return [table_of_own_json(path)]
    frame = read_table(path)
    if is_own_table(frame):
        return [table_of_own_results(frame, str(path))]
    return [SourceTable(str(path), "csv", frame)]


def is_database(place: str) -> bool:
    """Whether a path is an SQLite file."""
    return _head(place).startswith(SQLITE)


def is_archive(place: str) -> bool:
    """Whether a path is the archive of a study, by its content or, since that may be damaged, by its name."""
    return starts_archive(_head(place)) or (place.endswith(ARCHIVE_ENDING) and is_file(Path(place)))


def _head(place: str) -> bytes:
    try:
        with open_file(Path(place), None, RobustnessError) as file:
            return file.read(HEAD)
    except (RobustnessError, OSError):
        return b""
