"""Migrations, which upgrade a database to the newest schema in one transaction when it is opened.

A change of the schema needs a new module in `versions/`, its number in `REVISIONS`, and the same change in `schema.py`,
from which new databases are created. A test compares the two.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from robustness.errors import StoreError
from robustness.store import schema

REVISIONS = ("0001", "0002", "0003", "0004", "0005")
"""All revisions of the schema, oldest first."""

VERSION_TABLE = "robustness_version"
"""Not Alembic's usual `alembic_version`, which is Optuna's in the same database."""


def version(connection: Connection) -> str | None:
    """The revision of the database's schema; None if it does not contain a store."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    revision = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608
    return None if revision is None else str(revision)


def refuse_newer(revision: str | None, shown: str) -> None:
    """Raise StoreError for a database that was written by a newer version of this package."""
    if revision is not None and revision not in REVISIONS:
        raise StoreError(
            f"store {shown!r} was written by a newer version of robustness (schema {revision}; this one supports up to "
            f"{REVISIONS[-1]}): update robustness, or use another store"
        )


def upgrade(connection: Connection, shown: str, revision: str = REVISIONS[-1]) -> None:
    """Upgrade the database to `revision` in the caller's transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('robustness schema'))"))
    current = version(connection)
    # Another process may have upgraded it in the meantime.
    refuse_newer(current, shown)
    if current == revision:
        return
    if current is None and revision == REVISIONS[-1]:
        _create(connection)
    else:
        _run_alembic(connection, revision)


def _create(connection: Connection) -> None:
    """Create the tables without importing Alembic, which is slow."""
    schema.metadata.create_all(connection, checkfirst=False)
    connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:revision)"), {"revision": REVISIONS[-1]})  # noqa: S608


def _run_alembic(connection: Connection, revision: str) -> None:
    # Here, because only an upgrade needs Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    # Alembic's options are ini text, in which percent signs must be escaped.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
