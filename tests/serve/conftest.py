"""Stores and a browser for the tests of the live page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.browser import Browser, pages
from support.databases import postgres_url, store_url

__all__ = ["browser", "postgres_url", "store_url"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with pages(tmp_path_factory.mktemp("downloads")) as opened:
        yield opened
