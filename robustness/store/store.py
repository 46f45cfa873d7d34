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
    """A database of studies; close it, or use it as a context."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def url(self) -> str:
        """Where the store is, without any password."""
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
            found = connection.execute(select(studies.c.id, studies.c.created).where(studies.c.name == name)).first()
        if found is None:
            names = self.names()
            why = unknown_name("study", name, names) if names else f"unknown study {name!r}: it holds none yet"
            raise StoreError(f"store {self.url!r}: {why}")
        return StudyStore(self._database, found.id, name, found.created)

    def register(self, study: registering.StudyLike, plan: registering.PlanLike) -> StudyStore:
        """Write the study and its plan, or what is new of them, and take in what a sweep had to leave in a file.

        Raises StoreError, with the list of differences, if the store holds another study of that name.
        """
        with self._database.write() as connection:
            registering.register(connection, study, plan)
        registered = self.study(study.name)
        if registered.spill.exists():
            registered.writer().close()
        return registered


def open_store(url: str | None = None, create: bool = True) -> Store:
    """The store at `url` (default: ROBUSTNESS_STORE, or `sqlite:///robustness.db`), its schema brought up to date.

    With `create=False` a store that does not exist is an error, and nothing is made.
    """
    place = read_url(url)
    _check_file(place, create)
    database = connect(place)
    try:
        _bring_up_to_date(database, create)
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
        raise StoreError(f"store {shown(url)!r} does not exist; a sweep makes it")


def _bring_up_to_date(database: Database, create: bool) -> None:
    with database.read() as connection:
        found = migrations.version(connection)
    migrations.refuse_newer(found, database.shown)
    if found == migrations.REVISIONS[-1]:
        return
    if found is None and not create:
        raise StoreError(f"store {database.shown!r} holds no studies; a sweep writes them")
    if sqlite_file(database.url) is not None:
        _use_write_ahead_log(database)
    with database.write() as connection:
        migrations.upgrade(connection, database.shown)


def _use_write_ahead_log(database: Database) -> None:
    """Readers and a writer get on at once from here on: the file remembers it."""
    connection = database.engine.raw_connection()
    try:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                connection.cursor().execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                # For this one statement SQLite does not wait by itself when another process is just doing the same.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise database.failure(error) from None
                time.sleep(0.05)
            except sqlite3.Error as error:
                raise database.failure(error) from None
    finally:
        connection.close()
