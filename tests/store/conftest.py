"""Stores for the tests of the store, and a database with an outage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager

import pytest
from sqlalchemy import make_url
from support.databases import on_server, postgres_url, store_url
from support.store_samples import SampleStudy, plan_of

from robustness.store import Store, StudyStore, open_store

__all__ = ["postgres_url", "store_url"]


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with open_store(store_url) as opened:
        yield opened


@pytest.fixture
def sample(store: Store) -> StudyStore:
    """A study of three configurations and two arms that has not started."""
    study = SampleStudy()
    return store.register(study, plan_of(study))


@pytest.fixture
def outage(store_url: str) -> Callable[[], AbstractContextManager[None]]:
    """A context in which the database cannot be written: locked by another process, or shut down."""
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
