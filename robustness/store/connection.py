"""Connections: from a URL to an engine, and from a driver's error to one line without the password."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from robustness.errors import StoreError, unknown_name
from robustness.store import encoding

DEFAULT_URL = "sqlite:///robustness.db"
BUSY_SECONDS = 10.0
"""How long a statement waits for another process to unlock an SQLite file."""

_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_SECRET_OPTIONS = ("password", "sslpassword")


def read_url(text: str | None = None) -> URL:
    """Parse a store's URL; the default is ROBUSTNESS_STORE or `sqlite:///robustness.db`."""
    text = text or os.environ.get("ROBUSTNESS_STORE") or DEFAULT_URL
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The message omits the text, which may contain a password.
        hint = f"; for a file, sqlite:///{text}" if "@" not in text and ":" not in text else ""
        raise StoreError(
            "the store's URL is invalid: it should look like sqlite:///results.db or "
            f"postgresql://user@host/database{hint}"
        ) from None
    if url.drivername not in _DRIVERS:
        raise StoreError(f"store: {unknown_name('kind of database', url.drivername, ('sqlite', 'postgresql'))}")
    url = url.set(drivername=_DRIVERS[url.drivername])
    if url.drivername == "sqlite" and (url.host or (url.database or "").startswith("file:")):
        raise StoreError(f"store {shown(url)!r}: a file is written sqlite:///results.db, or sqlite:////full/path.db")
    return url


def shown(url: URL) -> str:
    """The URL for messages, without passwords and as users write it."""
    hidden = {name: "***" for name in _SECRET_OPTIONS if name in url.query}
    return url.set(drivername=url.get_backend_name()).update_query_dict(hidden).render_as_string(hide_password=True)


def sqlite_file(url: URL) -> Path | None:
    """The file of an SQLite store; None for one in memory and for PostgreSQL."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def file_beside(url: URL, name: str) -> Path:
    """The path of a further file of the store: next to an SQLite file, or in the working folder for a server."""
    file = sqlite_file(url)
    if file is not None:
        return file.with_name(f"{file.name}.{quote(name, safe=' ')}")
    server = "-".join(filter(None, (url.host, url.database))) or "robustness"
    return Path(f"{quote(server, safe=' ')}.{quote(name, safe=' ')}")


def connect(url: URL) -> Database:
    """The database of a URL, without connecting yet.

    SQLite commits with `synchronous=NORMAL`: commits survive a killed process; a power cut may lose the last ones but
    leaves a consistent database, from which a sweep can be resumed.
    """
    json: dict[str, Any] = {"json_serializer": encoding.dumps, "json_deserializer": encoding.loads}
    if url.get_backend_name() == "sqlite":
        arguments = {} if "timeout" in url.query else {"timeout": BUSY_SECONDS}
        if sqlite_file(url) is None:
            engine = create_engine(
                url, connect_args={**arguments, "check_same_thread": False}, poolclass=StaticPool, **json
            )
        else:
            engine = create_engine(url, connect_args=arguments, **json)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return Database(url, engine)
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
        return Database(url, create_engine(url, connect_args=settings, pool_pre_ping=True, **json))
    except ModuleNotFoundError:
        raise StoreError(
            f"store {shown(url)!r} needs psycopg, which is not installed: pip install 'robustness-study[postgres]'"
        ) from None


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # As SQLAlchemy recommends, `_begin_sqlite` begins transactions instead of the driver.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=NORMAL")


def _begin_sqlite(connection: Connection) -> None:
    # A read lock cannot be upgraded while another process writes, so a writer takes the write lock immediately.
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def complaint(error: BaseException, url: URL) -> str:
    """The driver's error message in one line, without SQL and passwords."""
    original = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    line = " ".join(str(original).split()) or type(original).__name__
    values = [url.password, *(url.query.get(name) for name in _SECRET_OPTIONS)]
    for secret in (str(value) for value in values if value):
        line = line.replace(quote(secret, safe=""), "***").replace(secret, "***")
    return line


@dataclass(frozen=True)
class Database:
    """An engine with its URL."""

    url: URL
    engine: Engine

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
        with self._errors_translated(), self.engine.execution_options(reading=True).begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes; an exception rolls it back."""
        with self._errors_translated(), self.engine.begin() as connection:
            yield connection

    def failure(self, error: BaseException) -> StoreError:
        """A database error as a StoreError of one line."""
        return StoreError(f"store {self.shown!r}: {complaint(error, self.url)}")

    @contextmanager
    def _errors_translated(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            # `from None` hides the driver's error, whose text may contain the password.
            raise self.failure(error) from None
