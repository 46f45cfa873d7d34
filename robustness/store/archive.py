"""A study as a portable file, from which another store takes it up: gzipped lines of JSON.

    {"format": "robustness-study archive", "version": 1, "schema": "0005", "study": NAME, "rows": {TABLE: COUNT}}
    {"table": "studies", "columns": [COLUMN, ...]}        for each of TABLES, followed by its rows:
    [VALUE, ...]
    {"sha256": DIGEST}                                    of all lines before

The numbers that a database gives to its rows are left out: trials are counted from 0 in the plan's order, and rows are
sorted here and not by the database, so that the same study is the same bytes whichever store it comes from. A running
trial is archived as planned and without epochs, since nobody continues it elsewhere.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

from sqlalchemy import Column, Connection, Table, func, select, text

from robustness.guards.outputs import ARCHIVE
from robustness.store import encoding
from robustness.store.archive_values import archived
from robustness.store.copying import OF_TRIAL
from robustness.store.migrations import REVISIONS
from robustness.store.schema import configurations, notes, studies, trials
from robustness.store.statements import REOPENED
from robustness.store.study_store import StudyStore
from robustness.trial import ENDED, PENDING

VERSION = 1
TABLES = (studies, configurations, notes, trials, *OF_TRIAL)
LOCAL = ("id", "study", "writer")
"""Columns that only mean something in one database."""
CHUNK = 200
"""The number of trials whose results are held in memory at a time."""

Row = dict[str, Any]


def write_archive(study: StudyStore, file: IO[bytes]) -> None:
    """Write a study to a file; raises StoreError if the store is damaged."""
    study.document()  # Raises if it does not match its checksum, which a copy would renew.
    digest = hashlib.sha256()
    with study.reading() as (connection, row), gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        for line in _lines(connection, row, study.name):
            content = _encoded(line)
            digest.update(content)
            packed.write(content)
        packed.write(_encoded({"sha256": digest.hexdigest()}))


def name_of(table: Table) -> str:
    """The name of a table in an archive."""
    return table.name.removeprefix("robustness_")


def columns_of(table: Table) -> list[Column[Any]]:
    """The columns of a table that an archive has."""
    return [column for column in table.c if column.name not in LOCAL]


def _encoded(line: Any) -> bytes:
    return f"{encoding.dumps(line)}\n".encode()


def _lines(connection: Connection, study: int, name: str) -> Iterator[Any]:
    """Every line before the last."""
    if connection.dialect.name == "postgresql":
        # Every statement sees the study as it is now, although a sweep may be writing.
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    plan = connection.execute(
        select(trials.c.id, trials.c.status).where(trials.c.study == study).order_by(trials.c.position, trials.c.id)
    ).all()
    numbers = {row.id: number for number, row in enumerate(plan)}
    ended = [row.id for row in plan if row.status in ENDED]
    rows: dict[Table, Iterable[Row]] = {
        **{table: _of_study(connection, table, study) for table in (studies, configurations, notes)},
        trials: map(_to_rerun, _of_trials(connection, trials, list(numbers), numbers)),
        **{table: _of_trials(connection, table, ended, numbers) for table in OF_TRIAL},
    }
    counts = {name_of(table): _count(connection, table, study) for table in TABLES}
    yield {"format": ARCHIVE, "version": VERSION, "schema": REVISIONS[-1], "study": name, "rows": counts}
    for table in TABLES:
        columns = [column.name for column in columns_of(table)]
        yield {"table": name_of(table), "columns": columns}
        for row in rows[table]:
            yield [archived(row[column]) for column in columns]


def _of_study(connection: Connection, table: Table, study: int) -> list[Row]:
    """The rows of a study in a table, by their keys."""
    rows = connection.execute(select(table).where(_study_of(table) == study)).mappings()
    return _sorted(map(dict, rows), table)


def _of_trials(connection: Connection, table: Table, ids: Sequence[int], numbers: dict[int, int]) -> Iterator[Row]:
    """The rows of trials in a table, with the trial's number in place of its id, by their keys."""
    owner = trials.c.id if table is trials else table.c.trial
    for start in range(0, len(ids), CHUNK):
        some = connection.execute(select(table).where(owner.in_(ids[start : start + CHUNK]))).mappings()
        yield from _sorted(({**row, owner.name: numbers[row[owner.name]]} for row in some), table)


def _study_of(table: Table) -> Column[Any]:
    return studies.c.id if table is studies else table.c.study


def _sorted(rows: Iterable[Row], table: Table) -> list[Row]:
    # Databases differ in how they order texts.
    return sorted(rows, key=lambda row: [row[column.name] for column in table.primary_key])


def _to_rerun(trial: Row) -> Row:
    """The row of a trial, as planned if it has not ended."""
    return {**trial, **REOPENED} if trial["status"] in PENDING else trial


def _count(connection: Connection, table: Table, study: int) -> int:
    """The number of rows that an archive of the study has of this table."""
    count = select(func.count()).select_from(table)
    if table in OF_TRIAL:
        own = (trials.c.study == study) & trials.c.status.in_(ENDED)
        count = count.join(trials, trials.c.id == table.c.trial).where(own)
    else:
        count = count.where(_study_of(table) == study)
    return int(connection.execute(count).scalar_one())
