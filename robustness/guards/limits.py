"""Limits on foreign files, checked before a file is taken in; each is raised by its environment variable.

ROBUSTNESS_LIMIT_PICTURE_PIXELS=100000000 robustness prepare ...
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from robustness.errors import RobustnessError, missing_file

PREFIX = "ROBUSTNESS_LIMIT_"


@dataclass(frozen=True)
class Limit:
    """The default of a limit and the unit that it counts."""

    default: int
    unit: str


LIMITS: Mapping[str, Limit] = {
    "study_bytes": Limit(200_000, "bytes"),
    "space_options": Limit(500, "options"),
    "space_choices": Limit(10_000, "choices"),
    "space_strata": Limit(10_000, "combinations"),
    "trials": Limit(250_000, "trials"),
    "table_bytes": Limit(100_000_000, "bytes"),
    "table_rows": Limit(500_000, "rows"),
    "table_columns": Limit(1_000, "columns"),
    "table_cells": Limit(5_000_000, "cells"),
    "runs_bytes": Limit(400_000_000, "bytes"),
    "runs_rows": Limit(2_000_000, "rows"),
    "runs_cells": Limit(50_000_000, "cells"),
    "run_files": Limit(500_000, "files"),
    "archive_line_bytes": Limit(30_000_000, "bytes"),
    "archive_members": Limit(200_000, "files"),
    "picture_bytes": Limit(100_000_000, "bytes"),
    "picture_pixels": Limit(30_000_000, "pixels"),
    "array_bytes": Limit(400_000_000, "bytes"),
    "classes": Limit(1_000, "classes"),
    "model_bytes": Limit(400_000_000, "bytes"),
}
"""Every limit; SECURITY.md lists what each is applied to."""


def limit(name: str) -> int:
    """Return a limit: its environment variable if that is set, or its default."""
    variable = PREFIX + name.upper()
    text = os.environ.get(variable, "")
    if not text:
        return LIMITS[name].default
    try:
        value = int(float(text)) if "e" in text.lower() else int(text)
    except (ValueError, OverflowError):
        value = 0
    if value < 1:
        raise RobustnessError(f"{variable}: must be an integer >= 1, found {text!r}")
    return value


def check(name: str, amount: int, source: object, error: type[RobustnessError]) -> None:
    """Raise `error` with one line unless the amount is within the limit of this name."""
    most = limit(name)
    if amount > most:
        raise error(
            f"{source}: {amount:,} {LIMITS[name].unit} exceed the limit of {most:,}; "
            f"if you trust it, raise the limit with {PREFIX}{name.upper()}={amount}"
        )


def is_file(path: Path) -> bool:
    """Whether a path is a file; False for a name that no file can have, for which `Path.is_file` raises."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, likewise."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def open_file(path: Path, name: str | None, error: type[RobustnessError]) -> BufferedReader:
    """Open a regular file of at most the limit's size in bytes; raises `error` for anything else.

    A name of None sets no limit on the size. Devices, sockets and FIFOs are refused without being read.
    """
    try:
        # A FIFO without a writer would otherwise block the call that opens it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as problem:
        raise error(f"{path}: {_reason(problem, path)}") from None
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise error(f"{path}: is a folder, not a file")
        if not stat.S_ISREG(status.st_mode):
            raise error(f"{path}: is not a regular file")
        if name is not None:
            check(name, status.st_size, path, error)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, name: str, error: type[RobustnessError]) -> bytes:
    """Return the content of a regular file within a limit; raises `error` for anything else."""
    with open_file(path, name, error) as file:
        try:
            content = file.read(limit(name) + 1)
        except OSError as problem:
            raise error(f"{path}: {_reason(problem, path)}") from None
    # Files in /proc have no size before they are read, and a file may grow while it is read.
    check(name, len(content), path, error)
    return content


def _reason(problem: OSError | ValueError, path: Path) -> str:
    if isinstance(problem, FileNotFoundError):
        return missing_file(path)
    if isinstance(problem, IsADirectoryError):
        return "is a folder, not a file"
    return f"cannot be read ({problem.strerror if isinstance(problem, OSError) else problem})"
