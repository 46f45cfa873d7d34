"""Where tests find real data: beside the project, never in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_set(name: str) -> Path:
    """The folder of a data set; skips the test where there is none, or fails it if ROBUSTNESS_REQUIRE_DATA=1."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data" / name
    if not folder.is_dir():
        if os.environ.get("ROBUSTNESS_REQUIRE_DATA") == "1":
            pytest.fail(f"the data set {name} is required and not there")
        pytest.skip(f"the data set {name} is not there")
    return folder
