"""A page that tests ask, and the browser it is open in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Browser, pages
from support.stores import fill, made_study

from report.analysis import Analysis, analyse
from report.page import write_report
from robustness.store import open_store


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the browser keeps what it downloads."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads: Path) -> Iterator[Browser]:
    with pages(downloads) as opened:
        yield opened


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Analysis]:
    """The page of 24 pairs from a continuous space."""
    folder = tmp_path_factory.mktemp("asked")
    with open_store(f"sqlite:///{folder / 'store.db'}") as store:
        analysis = analyse(fill(store, made_study("asked", configurations=24, wide=True)))
    return write_report(analysis, folder / "page.html"), analysis


@pytest.fixture
def page(browser: Browser, study: tuple[Path, Analysis]) -> Analysis:
    """The page, opened afresh at 1,600 px."""
    browser.look(1600)
    browser.driver.get("about:blank")
    browser.open(study[0])
    browser.run("for (const part of document.querySelectorAll('details.part')) part.open = true")
    return study[1]
