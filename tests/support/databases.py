"""Every test that takes `store_url` runs on SQLite and on PostgreSQL; `postgres_url` is for PostgreSQL alone.

ROBUSTNESS_TEST_POSTGRES is the URL of a server on which databases may be made; without it PostgreSQL is skipped, unless
ROBUSTNESS_REQUIRE_POSTGRES=1. A folder's conftest takes the fixtures from here.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import optuna
import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from robustness.store.connection import read_url


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a fresh, empty place for a store; what is written beside a server's store goes to `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    if request.param == "sqlite":
        # A locked file is waited for by the writer; a driver that waits as well would only slow the tests.
        yield f"sqlite:///{tmp_path / 'store.db'}?timeout=0.2"
        return
    with postgres_database() as url:
        yield url


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The URL of a fresh, empty database on the test server."""
    with postgres_database() as url:
        yield url


@contextmanager
def postgres_database() -> Iterator[str]:
    """A database for the length of a block; skips the test where there is no server, or fails it if one is required."""
    server = os.environ.get("ROBUSTNESS_TEST_POSTGRES")
    if not server:
        if os.environ.get("ROBUSTNESS_REQUIRE_POSTGRES") == "1":
            pytest.fail("ROBUSTNESS_REQUIRE_POSTGRES is 1 but ROBUSTNESS_TEST_POSTGRES names no server")
        pytest.skip("ROBUSTNESS_TEST_POSTGRES names no PostgreSQL server")
    name = f"robustness_{uuid.uuid4().hex}"
    on_server(f"CREATE DATABASE {name}")
    try:
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        on_server(f"DROP DATABASE {name} WITH (FORCE)")


def on_server(*statements: str) -> None:
    """Run statements on the test server's own database."""
    url = make_url(os.environ["ROBUSTNESS_TEST_POSTGRES"]).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))


def disconnect_all(url: str) -> None:
    """Have the test server drop every connection to a database, as a restart does."""
    name = make_url(url).database
    on_server(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'")  # noqa: S608


@contextmanager
def optuna_storage(url: str) -> Iterator[optuna.storages.RDBStorage]:
    """Optuna's own view of a database, closed at the end."""
    storage = optuna.storages.RDBStorage(read_url(url).render_as_string(hide_password=False))
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()
