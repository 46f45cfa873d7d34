"""Opening a store and finding or registering its studies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, func, select

from robustness.errors import StoreError, unknown_name
from robustness.store import copying, migrations, registering
from robustness.store.connection import Database, connect, in_memory, read_url, sqlite_file
from robustness.store.hiding import shown
from robustness.store.schema import studies, trials
from robustness.store.sqlite_files import check_path, check_structure, copy_to_memory, stamp, use_write_ahead_log
from robustness.store.study_store import StudyStore


class Store:
    """A database of studies; close it, or use it as a context manager."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def url(self) -> str:
        """The URL of the store without passwords."""
        return self._database.shown

    def __repr__(self) -> str:
        return f"Store({self.url!r})"

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._database.engine.dispose()

    def names(self) -> list[str]:
        """The names of all studies, oldest first."""
        with self._database.read() as connection:
            return list(connection.scalars(select(studies.c.name).order_by(studies.c.id)))

    def versions(self) -> dict[str, tuple[str, float, str | None]]:
        """The name of each study, oldest first, with what changes when it is registered again or replaced."""
        statement = select(studies.c.name, studies.c.hash, studies.c.created, studies.c.checksum).order_by(studies.c.id)
        with self._database.read() as connection:
            return {
                name: (fingerprint, created, seal) for name, fingerprint, created, seal in connection.execute(statement)
            }

    def marks(self) -> dict[str, tuple[tuple[Any, ...], ...]]:
        """For each study what changes when one of its trials starts, ends, is added or reset, in one statement."""
        newest = func.max(trials.c.id), func.max(trials.c.started), func.max(trials.c.ended)
        statement = (
            select(studies.c.name, trials.c.status, func.count(trials.c.id), *newest)
            .join(trials, trials.c.study == studies.c.id, isouter=True)
            .group_by(studies.c.name, trials.c.status)
            .order_by(studies.c.name, trials.c.status)
        )
        marks: dict[str, list[tuple[Any, ...]]] = {}
        with self._database.read() as connection:
            for name, *mark in connection.execute(statement):
                marks.setdefault(name, []).append(tuple(mark))
        return {name: tuple(parts) for name, parts in marks.items()}

    def signature(self) -> tuple[tuple[int, int] | None, ...] | None:
        """Size and time of an SQLite store's files, which differ after every change; None for a server."""
        file = sqlite_file(self._database.url)
        return None if file is None else tuple(stamp(file.with_name(f"{file.name}{end}")) for end in ("", "-wal"))

    @property
    def is_copy(self) -> bool:
        """Whether it is a copy in memory, in the newest schema, of a file with an older one, which changes no more."""
        return self._database.file is None and self._database.dialect == "sqlite"

    def study(self, name: str) -> StudyStore:
        """The study of that name; raises StoreError if the store has none."""
        with self._database.read() as connection:
            row = connection.execute(select(studies.c.id, studies.c.created).where(studies.c.name == name)).first()
        if row is None:
            names = self.names()
            reason = unknown_name("study", name, names) if names else f"unknown study {name!r}: the store is empty"
            raise StoreError(f"store {self.url!r}: {reason}")
        return StudyStore(self._database, row.id, name, row.created)

    def register(self, study: registering.StudyLike, plan: registering.PlanLike) -> StudyStore:
        """Add a study and its plan to the store.

        Raises StoreError with the list of differences if the store holds a different study of that name.
        """
        with self._database.write() as connection:
            registering.register(connection, study, plan)
        return self.study(study.name)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction for what writes several tables at once (`robustness.store.bulk`)."""
        with self._database.write() as connection:
            yield connection

    def copy(self, study: StudyStore, name: str, replace: bool = False) -> StudyStore:
        """Copy a study of another store, with everything that belongs to it (`robustness.store.copying`)."""
        with study.reading() as (source, row), self._database.write() as target:
            copying.copy_study(source, row, target, name, replace)
        return self.study(name)


def merge_parts(parts: Sequence[StudyStore], target: Store, of: int, leave_out: Sequence[str] = ()) -> StudyStore:
    """Copy the k-th part of `of` parts from the k-th store, by the number of the configuration, into another store.

    All of them hold the same study, which the target does not; it is written whole or not at all.
    """
    name = parts[0].name
    with target._database.errors_translated(), target._database.write() as connection:
        for number, part in enumerate(parts):
            with part._database.read() as source:
                if number == 0:
                    new = copying.copy_plan(source, part._row, connection, leave_out=leave_out)
                copying.copy_trials(source, part._row, connection, new, trials.c.configuration % of == number)
    return target.study(name)


def open_store(url: str | None = None, create: bool = True) -> Store:
    """Open the store at `url` (default: ROBUSTNESS_STORE or `sqlite:///robustness.db`) and upgrade its schema.

    With `create=False` a store that does not exist raises StoreError, and one that does is only read: it is not
    upgraded, nothing is locked, and no file is written. A file of an older schema is then read from a copy in memory.
    """
    location = read_url(url)
    path = sqlite_file(location)
    if path is not None:
        check_path(path, shown(location), create)
    database = connect(location, reading=not create)
    try:
        if not create:
            return Store(_readable(database))
        _upgrade(database)
    except BaseException:
        database.engine.dispose()
        raise
    return Store(database)


def _version(database: Database) -> str | None:
    """The revision of the schema; raises StoreError if the database is damaged or of a newer version."""
    with database.read() as connection:
        if database.file is not None:
            check_structure(connection, database.file.path, database.shown)
        version = migrations.version(connection)
    migrations.refuse_newer(version, database.shown)
    return version


def _readable(database: Database) -> Database:
    """The database, or a copy of it in memory with the newest schema."""
    version = _version(database)
    if version is None:
        raise StoreError(f"store {database.shown!r} holds no studies; a sweep adds them")
    if version == migrations.REVISIONS[-1]:
        return database
    if database.file is None:
        raise StoreError(
            f"store {database.shown!r} has an older schema ({version}), which cannot be read without upgrading it: run "
            "`robustness sweep` or `robustness optimize` on it once, which upgrades it"
        )
    try:
        copy = in_memory(database.url, copy_to_memory(database.file, database.shown, version))
    except sqlite3.Error as error:
        raise database.failure(error) from None
    with copy.damage_named(), copy.rebuild() as connection:
        migrations.upgrade(connection, database.shown)
    return copy


def _upgrade(database: Database) -> None:
    if _version(database) == migrations.REVISIONS[-1]:
        return
    if database.file is not None:
        try:
            use_write_ahead_log(database.engine)
        except sqlite3.Error as error:
            raise database.failure(error) from None
    with database.damage_named(), database.rebuild() as connection:
        migrations.upgrade(connection, database.shown)
