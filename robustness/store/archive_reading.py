"""Reading the archive of a study, which may be damaged or a stranger's, into a store in memory.

Nothing but JSON is read, line by line within the limits of `robustness.guards.limits`. Values are checked against the
columns, and rows against each other by the constraints of the tables. The store is only returned once the last line,
the checksum of all others, has been read.
"""

from __future__ import annotations

import gzip
import hashlib
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Table, insert
from sqlalchemy.exc import SQLAlchemyError

from robustness.errors import RobustnessError, shown
from robustness.guards.limits import check, limit, open_file
from robustness.guards.outputs import ARCHIVE
from robustness.store import encoding, migrations
from robustness.store.archive import TABLES, VERSION, Row, columns_of, name_of
from robustness.store.archive_values import reader
from robustness.store.checksums import of_json
from robustness.store.connection import in_memory
from robustness.store.schema import studies, trials
from robustness.store.store import Store

CHUNK = 1_000
"""The number of rows that are held as Python objects at a time."""


def read_archive(path: Path) -> Store:
    """The study of an archive, in a store in memory; raises RobustnessError with one line that names the file."""
    place = URL.create("sqlite", database=str(path))
    database = in_memory(place, sqlite3.connect(":memory:", check_same_thread=False))
    try:
        with database.rebuild() as connection:
            migrations.upgrade(connection, database.shown)
        with open_file(path, "runs_bytes", RobustnessError) as packed, gzip.GzipFile(fileobj=packed) as file:
            lines = _Lines(path, file)
            with database.write() as connection, _problems_named(lines):
                _take_in(lines, connection)
    except BaseException:
        database.engine.dispose()
        raise
    return Store(database)


class _Lines:
    """The lines of an archive, in order."""

    def __init__(self, path: Path, file: gzip.GzipFile) -> None:
        self.path = path
        self.number = 0
        """Of the line that was read last, from 1."""
        self.digest = hashlib.sha256()
        """Of all lines before that one."""
        self._file = file
        self._last = b""
        self._size = 0
        self._longest, self._largest = limit("archive_line_bytes"), limit("runs_bytes")

    def next(self) -> Any:
        """The value on the next line."""
        self.number += 1
        self.digest.update(self._last)
        self._last = self._file.readline(self._longest + 1)
        self._size += len(self._last)
        if len(self._last) > self._longest:
            check("archive_line_bytes", len(self._last), self.path, RobustnessError)
        if self._size > self._largest:
            check("runs_bytes", self._size, self.path, RobustnessError)
        if not self._last.endswith(b"\n"):
            raise EOFError
        try:
            return encoding.loads(self._last)
        except (ValueError, TypeError, OverflowError):
            raise ValueError("is not JSON") from None

    def is_over(self) -> bool:
        """Whether no line follows."""
        return not self._file.read(1)


@contextmanager
def _problems_named(lines: _Lines) -> Iterator[None]:
    """Turn whatever is wrong with an archive into one line."""
    try:
        yield
    except EOFError:
        raise RobustnessError(f"{lines.path}: is cut off after line {lines.number - 1:,}") from None
    except (OSError, zlib.error) as problem:
        raise RobustnessError(f"{lines.path}: cannot be unpacked ({problem})") from None
    except (ValueError, RecursionError) as problem:
        reason = "is nested too deeply" if isinstance(problem, RecursionError) else problem
        raise RobustnessError(f"{lines.path}: line {lines.number:,}: {reason}") from None
    except SQLAlchemyError as problem:
        reason = " ".join(str(getattr(problem, "orig", None) or problem).split())
        raise RobustnessError(f"{lines.path}: its rows do not fit together ({reason[:100]})") from None


def _take_in(lines: _Lines, connection: Connection) -> None:
    """Put every row of an archive into empty tables, and check that they are all there and unchanged."""
    name, counts = _head(lines)
    for table in TABLES:
        rows: list[Row] = []
        for row in _rows(lines, table, counts[name_of(table)]):
            if table is studies:
                _check_study(row, name)
            rows.append(row)
            if len(rows) == CHUNK:
                connection.execute(insert(table), rows)
                rows = []
        if rows:
            connection.execute(insert(table), rows)
    seal = lines.next()
    if seal != {"sha256": lines.digest.hexdigest()}:
        raise ValueError("the checksum does not match: the file is damaged or was altered")
    if not lines.is_over():
        raise ValueError("must be the last line, since it has the checksum")


def _check_study(row: Row, name: str) -> None:
    if row["name"] != name:
        raise ValueError(f"name: must be that on the first line, {shown(name)}, found {shown(row['name'])}")
    if row.get("checksum") not in (None, of_json(row["document"])):
        raise ValueError("document: does not match its checksum")


def _head(lines: _Lines) -> tuple[str, dict[str, int]]:
    """The study's name and the number of rows of each table."""
    head = lines.next()
    if not isinstance(head, dict) or head.get("format") != ARCHIVE:
        raise ValueError("is not the first line of a study's archive")
    if head.get("version") != VERSION or head.get("schema") not in migrations.REVISIONS:
        raise ValueError("says that a newer version of robustness wrote the archive: update robustness")
    rows = head.get("rows")
    if not isinstance(rows, dict) or not all(type(count) is int and count >= 0 for count in rows.values()):
        raise ValueError("rows: must have the number of rows of each table")
    if set(rows) != {name_of(table) for table in TABLES} or rows[name_of(studies)] != 1:
        raise ValueError(f"rows: must have one study and the tables {', '.join(map(name_of, TABLES))}")
    check("runs_rows", sum(rows.values()), lines.path, RobustnessError)
    return str(head.get("study")), rows


def _rows(lines: _Lines, table: Table, count: int) -> Iterator[Row]:
    """The rows of a table, which the next line begins; the study is number 0, as is the first trial."""
    known = {column.name: column for column in columns_of(table)}
    start = lines.next()
    names = start.get("columns") if isinstance(start, dict) and start.get("table") == name_of(table) else None
    if not isinstance(names, list) or not all(isinstance(name, str) and name in known for name in names):
        raise ValueError(f"must begin the table {name_of(table)!r} with names of its columns")
    # A column that a later schema added is not in an older archive.
    needed = {name for name, column in known.items() if not column.nullable and column.server_default is None}
    if len(set(names)) != len(names) or not needed <= set(names):
        raise ValueError(f"must name each of the columns {', '.join(sorted(needed))} once")
    readers = [(name, reader(known[name])) for name in names]
    of_study = {"study": 0} if "study" in table.c else {}
    for number in range(count):
        values = lines.next()
        if not isinstance(values, list) or len(values) != len(readers):
            raise ValueError(f"must be a row of {name_of(table)}, a list of {len(readers)} values")
        local = {**of_study, "id": number} if table in (studies, trials) else of_study
        yield local | {name: read(value) for value, (name, read) in zip(values, readers, strict=True)}
