"""Saving what a sweep has computed after its SQLite file was deleted or replaced.

The connection that is still open reads the old file, which exists until it is closed.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from robustness.errors import StoreError
from robustness.store.connection import Database


def rescue(database: Database) -> Path | None:
    """Copy the database to a new file beside its old place, or else to the folder for temporary files.

    Returns None if the file is still in its place, or if nothing can be copied.
    """
    if database.file is None or database.file.is_in_place():
        return None
    for folder in (database.file.path.absolute().parent, Path(tempfile.gettempdir())):
        target = _free(folder / f"{database.file.path.name}.rescued")
        draft = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            _copy(database, draft)
            draft.replace(target)
            return target
        except (OSError, sqlite3.Error, SQLAlchemyError, StoreError):
            with suppress(OSError):
                draft.unlink(missing_ok=True)
    return None


def _copy(database: Database, target: Path) -> None:
    source = database.engine.raw_connection()
    try:
        original = source.driver_connection
        if not isinstance(original, sqlite3.Connection):
            raise StoreError("the connection to the database is closed")
        with closing(sqlite3.connect(target)) as copy:
            original.backup(copy)
            found = copy.execute("PRAGMA quick_check(1)").fetchone()
            if found != ("ok",):
                raise StoreError("the copy is damaged")
    finally:
        source.close()


def _free(path: Path) -> Path:
    """The path, or one with a number that does not exist yet."""
    numbered = (path if number == 1 else path.with_name(f"{path.name}-{number}") for number in itertools.count(1))
    return next(each for each in numbered if not each.exists())
