"""Databases for the tests of a store under attack."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.databases import disconnect_all, postgres_url, store_url
from support.store_samples import sample, store

from robustness.store.connection import file_beside, read_url

__all__ = ["postgres_url", "sample", "store", "store_url"]


@pytest.fixture
def lose_lock(store_url: str) -> Callable[[str], None]:
    """Take the lock of a study away: its file is deleted, or the server drops every connection, as a restart does."""

    def delete(study: str) -> None:
        file_beside(read_url(store_url), f"{study}.lock").unlink()

    def disconnect(_study: str) -> None:
        disconnect_all(store_url)

    return delete if store_url.startswith("sqlite") else disconnect
