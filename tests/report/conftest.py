"""Pages of the made studies, each written once for all tests that look at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from support.stores import AWKWARD

from report.analysis import Analysis, analyse
from report.page import write_report
from robustness.store import open_store


@dataclass(frozen=True)
class Written:
    """A study and its page."""

    analysis: Analysis
    page: Path


@pytest.fixture(scope="session")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Written]:
    """From the name of an awkward store to its page."""

    @cache
    def written(name: str) -> Written:
        folder = tmp_path_factory.mktemp("awkward")
        with open_store(f"sqlite:///{folder / 'secret-folder.db'}") as store:
            analysis = analyse(AWKWARD[name](store))
        return Written(analysis, write_report(analysis, folder / "page.html"))

    return written
