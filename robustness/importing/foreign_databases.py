"""Databases of other tools, opened for reading alone: nothing is written, locked or upgraded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, NullPool, create_engine, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from robustness.errors import RobustnessError, missing_file
from robustness.guards.limits import check, limit, open_file
from robustness.store.hiding import complaint, shown
from robustness.store.sqlite_files import SqliteFile


class ForeignDatabase:
    """A connection that only reads; its tables are queried with plain SQL."""

    def __init__(self, connection: Connection, source: str) -> None:
        self._connection, self.source = connection, source
        self._inspector = inspect(connection)

    def has(self, table: str, column: str | None = None) -> bool:
        """Whether there is such a table, or such a column in it."""
        if not self._inspector.has_table(table):
            return False
        return column is None or any(each["name"] == column for each in self._inspector.get_columns(table))

    def rows(self, query: str, **values: Any) -> Sequence[Any]:
        """All rows of a query; raises RobustnessError if they exceed the limit."""
        most = limit("runs_rows")
        found = self._connection.execute(text(query), values).fetchmany(most + 1)
        check("runs_rows", len(found), self.source, RobustnessError)
        return found


@contextmanager
def reading(address: str) -> Iterator[ForeignDatabase]:
    """Open the database of a URL; raises RobustnessError with one line, which shows no password."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        if "@" not in address and "://" not in address:
            missing = missing_file(Path(address))
            raise RobustnessError(f"{address}: {missing} (a database may be named as sqlite:///FILE, too)") from None
        raise RobustnessError("the database's URL is invalid: it should look like sqlite:///runs.db") from None
    source = shown(url)
    try:
        engine = _engine(url, source)
        try:
            with engine.connect() as connection:
                yield ForeignDatabase(connection, source)
        finally:
            engine.dispose()
    except SQLAlchemyError as problem:
        raise RobustnessError(f"{source}: {complaint(problem, url)}") from None
    except ModuleNotFoundError as problem:
        raise RobustnessError(f"{source}: needs the package {problem.name}, which is not installed") from None


def _engine(url: URL, source: str) -> Any:
    if url.get_backend_name() != "sqlite":
        options = {"postgresql_readonly": True} if url.get_backend_name() == "postgresql" else {}
        return create_engine(url, poolclass=NullPool, execution_options=options)
    path = Path(str(url.database or ""))
    with open_file(path, "runs_bytes", RobustnessError):
        pass
    file = SqliteFile(path, source, reading=True)
    engine = create_engine("sqlite://", poolclass=NullPool)
    file.attach(engine)
    return engine.execution_options(reading=True)
