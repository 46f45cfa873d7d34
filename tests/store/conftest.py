"""Stores for the tests of the store, and a database with an outage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager

import pytest
from sqlalchemy import make_url
from support.databases import disconnect_all, on_server, postgres_url, store_url
from support.store_samples import sample, store

__all__ = ["postgres_url", "sample", "store", "store_url"]


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
        on_server(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        disconnect_all(store_url)
        yield
        on_server(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")

    return locked if store_url.startswith("sqlite") else shut
