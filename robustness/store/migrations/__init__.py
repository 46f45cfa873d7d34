"""Brings a database to the newest schema, inside one transaction, before anything else is done with it.

A change of the schema is a new module in `versions/`, its number in `REVISIONS`, and the same change in `schema.py`:
a fresh database is made from the latter at once, and a test holds the two ways against each other.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from robustness.errors import StoreError
from robustness.store import schema

REVISIONS = ("0001", "0002", "0003")
"""Every schema there has been, oldest first."""

VERSION_TABLE = "robustness_version"
"""Not Alembic's usual `alembic_version`, which is Optuna's in the same database."""


def version(connection: Connection) -> str | None:
    """The revision of the database's schema; None if it holds no store."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608
    return None if found is None else str(found)


def refuse_newer(found: str | None, shown: str) -> None:
    """Raises StoreError for a database that a newer version of this package has written."""
    if found is not None and found not in REVISIONS:
        raise StoreError(
            f"store {shown!r} was written by a newer version of robustness (schema {found}; this one knows up to "
            f"{REVISIONS[-1]}): update robustness, or use another store"
        )


def upgrade(connection: Connection, shown: str, revision: str = REVISIONS[-1]) -> None:
    """Bring the database up to `revision` within the caller's transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('robustness schema'))"))
    found = version(connection)
    # Another process may have been here while this one waited for its turn.
    refuse_newer(found, shown)
    if found == revision:
        return
    if found is None and revision == REVISIONS[-1]:
        _create(connection)
    else:
        _run_alembic(connection, revision)


def _create(connection: Connection) -> None:
    """A fresh database without the time it takes to import Alembic."""
    schema.metadata.create_all(connection, checkfirst=False)
    connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:revision)"), {"revision": REVISIONS[-1]})  # noqa: S608


def _run_alembic(connection: Connection, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    # Alembic reads its options as ini text, in which a percent sign has a meaning.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
