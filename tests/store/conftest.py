"""Every test that takes `store_url` runs on SQLite and on PostgreSQL.

ROBUSTNESS_TEST_POSTGRES is the URL of a server on which databases may be made; without it PostgreSQL is skipped, unless
ROBUSTNESS_REQUIRE_POSTGRES=1.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool
from store_samples import SampleStudy, plan_of

from robustness.store import Store, StudyStore, open_store


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a fresh, empty place for a store; what is written beside a server's store goes to `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    if request.param == "sqlite":
        # A locked file is waited for by the writer; a driver that waits as well would only slow the tests.
        yield f"sqlite:///{tmp_path / 'store.db'}?timeout=0.2"
        return
    server = os.environ.get("ROBUSTNESS_TEST_POSTGRES")
    if not server:
        if os.environ.get("ROBUSTNESS_REQUIRE_POSTGRES") == "1":
            pytest.fail("ROBUSTNESS_REQUIRE_POSTGRES is 1 but ROBUSTNESS_TEST_POSTGRES names no server")
        pytest.skip("ROBUSTNESS_TEST_POSTGRES names no PostgreSQL server")
    name = f"robustness_{uuid.uuid4().hex}"
    on_server(f"CREATE DATABASE {name}")
    yield make_url(server).set(database=name).render_as_string(hide_password=False)
    on_server(f"DROP DATABASE {name} WITH (FORCE)")


def on_server(*statements: str) -> None:
    """Run statements on the test server's own database."""
    url = make_url(os.environ["ROBUSTNESS_TEST_POSTGRES"]).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with open_store(store_url) as opened:
        yield opened


@pytest.fixture
def sample(store: Store) -> StudyStore:
    """A study of three configurations and two arms, of which nothing has run."""
    study = SampleStudy()
    return store.register(study, plan_of(study))


@pytest.fixture
def outage(store_url: str) -> Callable[[], AbstractContextManager[None]]:
    """A context within which the database cannot be written: locked by another process, or shut."""
    name = make_url(store_url).database

    @contextmanager
    def locked() -> Iterator[None]:
        with closing(sqlite3.connect(str(name), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    @contextmanager
    def shut() -> Iterator[None]:
        on_server(
            f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false",
            f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'",  # noqa: S608
        )
        yield
        on_server(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")

    return locked if store_url.startswith("sqlite") else shut
