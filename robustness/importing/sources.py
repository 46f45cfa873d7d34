"""From the words of a command to sources: `optuna:URL`, `ARM=FILE`, `ARM@TASK=FILE`, files named by a pattern."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from robustness.errors import RobustnessError, unknown_name
from robustness.guards.limits import is_file, is_folder
from robustness.importing.runs import PARAMETER, SourceTable

READERS: Mapping[str, str] = {
    "optuna": "robustness.importing.optuna_runs",
    "ray": "robustness.importing.ray_runs",
    "mlflow": "robustness.importing.mlflow_runs",
    "wandb": "robustness.importing.wandb_export",
    "tensorboard": "robustness.importing.tensorboard_runs",
}
"""The module that reads each kind of source: `read(place, source) -> list of SourceTable`."""
FILES = "robustness.importing.files"
"""The module that reads a plain path."""
SPECIAL = ("arm", "task")
"""Fields of a pattern that are no columns."""
_ODD_VALUES = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""What a value of another kind than the tool writes may raise."""


@dataclass(frozen=True)
class SourceOptions:
    """Which part of a source is meant."""

    studies: Sequence[str] = ()
    """Studies of an Optuna database or of another store; none means all."""
    experiment: str | None = None
    """The experiment of an MLflow store."""
    names: str | None = None
    """A pattern of file or folder names with fields, such as `{task}_{arm}.csv`."""


Reader = Callable[[str, SourceOptions], list[SourceTable]]


def read_source(text: str, options: SourceOptions) -> list[SourceTable]:
    """The tables of one source; raises RobustnessError with one line."""
    arm, task, place = _labels(text)
    kind, colon, rest = place.partition(":")
    # A one-letter kind would be a drive of Windows.
    if colon and kind in READERS:
        tables = _read(READERS[kind], rest, options)
    elif colon and len(kind) > 1 and kind.isalpha() and not is_file(Path(place)) and not is_folder(Path(place)):
        raise RobustnessError(f"{place}: {unknown_name('kind of source', kind, READERS)}")
    else:
        tables = _read(FILES, place, options)
    return [_named(table, place, options.names).labelled(arm, task) for table in tables]


def fields_of(pattern: str, name: str) -> dict[str, str]:
    """The values of a pattern's fields in a name; raises RobustnessError if the name does not fit."""
    parts = re.split(r"\{(\w+)\}", pattern)
    expression = "".join(f"(?P<{part}>.+)" if place % 2 else re.escape(part) for place, part in enumerate(parts))
    try:
        found = re.fullmatch(expression, name)
    except re.error:
        raise RobustnessError(f"--names {pattern!r}: each field in braces must be a name that occurs once") from None
    if found is None:
        raise RobustnessError(f"--names {pattern!r}: does not fit the name {name!r}")
    return found.groupdict()


def _named(table: SourceTable, place: str, pattern: str | None) -> SourceTable:
    """The table with the columns that the pattern reads from the file's name."""
    if pattern is None or is_folder(Path(place.partition(":")[2] or place)):
        return table
    fields = fields_of(pattern, Path(place).name)
    prefix = "" if table.epochs is None else PARAMETER
    columns = {f"{prefix}{name}": value for name, value in fields.items() if name not in SPECIAL}
    return replace(table, frame=table.frame.assign(**columns)).labelled(fields.get("arm"), fields.get("task"))


def _labels(text: str) -> tuple[str | None, str | None, str]:
    """`mfvi@cifar=runs.csv` as arm, task and place, unless there is a file of that whole name."""
    label, equals, place = text.partition("=")
    kind = text.partition(":")[0]
    if not equals or kind in READERS or is_file(Path(text)) or is_folder(Path(text)):
        return None, None, text
    arm, at, task = label.partition("@")
    return arm or None, task if at else None, place


def _read(module: str, place: str, options: SourceOptions) -> list[SourceTable]:
    """The tables of a place by the `read` of a module, which is only loaded now: some load a tracker's package."""
    reader = cast(Reader, importlib.import_module(module).read)
    try:
        return reader(place, options)
    except _ODD_VALUES as problem:
        # A damaged or edited source has a value of any kind anywhere; each reader checks what it can name better.
        reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:100]
        raise RobustnessError(f"{place}: a value in it cannot be read ({reason})") from problem
