"""Opening a store and finding or registering its studies."""

from __future__ import annotations

import sqlite3
import time
from types import TracebackType

from sqlalchemy import URL, select

from robustness.errors import StoreError, unknown_name
from robustness.store import migrations, registering
from robustness.store.connection import BUSY_SECONDS, Database, connect, read_url, shown, sqlite_file
from robustness.store.schema import studies
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
        """Add a study and its plan to the store, and save the results of an earlier outage.

        Raises StoreError with the list of differences if the store holds a different study of that name.
        """
        with self._database.write() as connection:
            registering.register(connection, study, plan)
        registered = self.study(study.name)
        if registered.spill.exists():
            registered.writer().close()
        return registered


def open_store(url: str | None = None, create: bool = True) -> Store:
    """Open the store at `url` (default: ROBUSTNESS_STORE or `sqlite:///robustness.db`) and upgrade its schema.

    With `create=False` a store that does not exist raises StoreError.
    """
    location = read_url(url)
    _check_file(location, create)
    database = connect(location)
    try:
        _upgrade(database, create)
    except BaseException:
        database.engine.dispose()
        raise
    return Store(database)


def _check_file(url: URL, create: bool) -> None:
    file = sqlite_file(url)
    if file is None:
        return
    if not file.parent.is_dir():
        raise StoreError(f"store {shown(url)!r}: the folder {str(file.parent)!r} does not exist")
    if file.is_dir():
        raise StoreError(f"store {shown(url)!r}: {str(file)!r} is a folder, not a database file")
    if not create and not file.exists():
        raise StoreError(f"store {shown(url)!r} does not exist; run a sweep first, or give --store")


def _upgrade(database: Database, create: bool) -> None:
    with database.read() as connection:
        version = migrations.version(connection)
    migrations.refuse_newer(version, database.shown)
    if version == migrations.REVISIONS[-1]:
        return
    if version is None and not create:
        raise StoreError(f"store {database.shown!r} holds no studies; a sweep adds them")
    if sqlite_file(database.url) is not None:
        _use_write_ahead_log(database)
    with database.write() as connection:
        migrations.upgrade(connection, database.shown)


def _use_write_ahead_log(database: Database) -> None:
    """Let readers and a writer work at the same time; the setting is stored in the file."""
    connection = database.engine.raw_connection()
    try:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                connection.cursor().execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                # For this statement SQLite does not wait for another process that executes it, too.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise database.failure(error) from None
                time.sleep(0.05)
            except sqlite3.Error as error:
                raise database.failure(error) from None
    finally:
        connection.close()
