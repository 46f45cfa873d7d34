"""Connections: from a URL to an engine, and from a driver's error to one line without secrets."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, NullPool, StaticPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from robustness.errors import StoreError, unknown_name
from robustness.store import encoding
from robustness.store.hiding import complaint, shown
from robustness.store.sqlite_files import BUSY_SECONDS, SqliteFile, begin, prepare

DEFAULT_URL = "sqlite:///robustness.db"

_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_JSON: dict[str, Any] = {"json_serializer": encoding.dumps, "json_deserializer": encoding.loads}
_FILE_NAME = re.compile(r"[\w./~+-]+")


def read_url(text: str | None = None) -> URL:
    """Parse a store's URL; the default is ROBUSTNESS_STORE or `sqlite:///robustness.db`."""
    text = text or os.environ.get("ROBUSTNESS_STORE") or DEFAULT_URL
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The message omits the text, which may contain a password, unless it can only be the name of a file.
        hint = f"; for a file, sqlite:///{text}" if _FILE_NAME.fullmatch(text) else ""
        raise StoreError(
            "the store's URL is invalid: it should look like sqlite:///results.db or "
            f"postgresql://user@host/database{hint}"
        ) from None
    if url.drivername not in _DRIVERS:
        raise StoreError(f"store: {unknown_name('kind of database', url.drivername, ('sqlite', 'postgresql'))}")
    url = url.set(drivername=_DRIVERS[url.drivername])
    if url.drivername == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise StoreError("store: sqlite:// names no file, so its results would be lost; write sqlite:///results.db")
        if url.host or (url.database or "").startswith("file:"):
            raise StoreError("store: a file is written sqlite:///results.db, or sqlite:////full/path.db")
    elif any(mark in (url.host or "") for mark in "@=") or any(mark in (url.database or "") for mark in "@=:"):
        # The rest of a password with an unescaped @, or libpq's own notation, which messages and file names would show.
        raise StoreError(
            "the store's URL is invalid: in a password write @ as %40, / as %2F and : as %3A; further options follow "
            "the database as ?name=value"
        )
    return url


def sqlite_file(url: URL) -> Path | None:
    """The file of an SQLite store; None for PostgreSQL."""
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


def address(url: URL) -> str:
    """The URL as text, its password included and a file's path in full: for opening it later, not for messages."""
    file = sqlite_file(url)
    whole = url if file is None else url.set(database=str(file.absolute()))
    return whole.render_as_string(hide_password=False)


LONGEST_NAME = 140
"""Letters of a file name that is made from a study's name; file systems allow 255."""


def file_beside(url: URL, name: str) -> Path:
    """The path of a further file of the store: next to an SQLite file, or in the working folder for a server."""
    file = sqlite_file(url)
    if file is not None:
        return file.with_name(f"{file.name}.{_quoted(name)}")
    server = "-".join(filter(None, (url.host, url.database))) or "robustness"
    return Path(f"{quote(server, safe=' ')}.{_quoted(name)}")


def _quoted(name: str) -> str:
    """A name with the letters that every file system allows; a long one is shortened and told apart by a hash."""
    quoted = quote(name, safe=" ")
    if len(quoted) <= LONGEST_NAME:
        return quoted
    suffix = quoted.rpartition(".")[2]
    return f"{quoted[:LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.{suffix}"


def connect(url: URL, reading: bool = False) -> Database:
    """The database of a URL, without connecting yet; with `reading` nothing in it can be changed.

    SQLite commits with `synchronous=NORMAL`: commits survive a killed process; a power cut may lose the last ones but
    leaves a consistent database, from which a sweep can be resumed.
    """
    path = sqlite_file(url)
    if path is not None:
        arguments = {} if "timeout" in url.query else {"timeout": BUSY_SECONDS}
        # A reader decides for each transaction how to open the file; a writer keeps its connections.
        pool = {"poolclass": NullPool} if reading else {}
        engine = create_engine(url, connect_args=arguments, **pool, **_JSON)
        file = SqliteFile(path, shown(url), reading)
        file.attach(engine)
        return Database(url, engine, file)
    patience: dict[str, Any] = {
        "connect_timeout": 10,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
        "application_name": "robustness",
    }
    settings = {name: value for name, value in patience.items() if name not in url.query}
    try:
        engine = create_engine(
            url,
            connect_args=settings,
            pool_pre_ping=True,
            execution_options={"postgresql_readonly": True} if reading else {},
            **_JSON,
        )
    except ModuleNotFoundError:
        raise StoreError(
            f"store {shown(url)!r} needs psycopg, which is not installed: pip install -e '.[postgres]' in "
            "the project's folder"
        ) from None
    return Database(url, engine)


def in_memory(url: URL, connection: sqlite3.Connection) -> Database:
    """The copy in memory of a store, which is shown as the original."""
    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool, **_JSON)
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", begin)
    return Database(url, engine)


@dataclass(frozen=True)
class Database:
    """An engine with its URL."""

    url: URL
    engine: Engine
    file: SqliteFile | None = None
    """The file of an SQLite store."""

    @property
    def shown(self) -> str:
        """The URL without any password."""
        return shown(self.url)

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.engine.dialect.name

    def __repr__(self) -> str:
        return f"Database({self.shown!r})"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads; on SQLite it does not wait for writers."""
        with self.damage_named(), self.errors_translated():
            with self.engine.execution_options(reading=True).begin() as connection:
                yield connection
            if self.file is not None:
                self.file.check_unchanged()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes; an exception rolls it back."""
        with self.errors_translated(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def rebuild(self) -> Iterator[Connection]:
        """A transaction that may replace whole tables: until its end, SQLite does not enforce foreign keys."""
        with self.errors_translated(), self.engine.execution_options(rebuilding=True).connect() as connection:
            try:
                with connection.begin():
                    yield connection
            finally:
                if self.dialect == "sqlite":
                    # Not through SQLAlchemy, which would begin a transaction, in which the setting cannot change.
                    raw: Any = connection.connection.driver_connection
                    raw.execute("PRAGMA foreign_keys=ON")

    def failure(self, error: BaseException) -> StoreError:
        """A database error as a StoreError of one line."""
        return StoreError(f"store {self.shown!r}: {complaint(error, self.url)}")

    @contextmanager
    def errors_translated(self) -> Iterator[None]:
        """Turn database errors into a StoreError of one line."""
        try:
            yield
        except SQLAlchemyError as error:
            # `from None` hides the driver's error, whose text may contain the password.
            raise self.failure(error) from None

    @contextmanager
    def damage_named(self) -> Iterator[None]:
        """Values that cannot be decoded mean that the database was changed by somebody else."""
        try:
            yield
        except (ValueError, TypeError, LookupError, OverflowError, AttributeError) as error:
            if self.file is not None:
                self.file.check_unchanged()
            raise StoreError(f"store {self.shown!r} is damaged: {complaint(error, self.url)}") from error
