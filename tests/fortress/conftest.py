"""Databases for the tests of a store under attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import make_url
from support.databases import on_server, postgres_url, store_url
from support.store_samples import SampleStudy, plan_of

from robustness.store import Store, StudyStore, open_store
from robustness.store.connection import file_beside, read_url

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
def lose_lock(store_url: str) -> Callable[[str], None]:
    """Take the lock of a study away: its file is deleted, or the server drops every connection, as a restart does."""

    def delete(study: str) -> None:
        file_beside(read_url(store_url), f"{study}.lock").unlink()

    def disconnect(_study: str) -> None:
        name = make_url(store_url).database
        on_server(
            f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'"  # noqa: S608
        )

    return delete if store_url.startswith("sqlite") else disconnect
