"""The wheel holds both packages with the bundled studies and spaces, and finds them by name when it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    done = subprocess.run(
        [*command, "--wheel-dir", str(folder), str(ROOT)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("robustness_study-*.whl")
    return built


def test_the_wheel_holds_the_packages_the_studies_and_the_spaces(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "robustness/cli/__init__.py" in names
    assert any(name.startswith("report/") for name in names)
    for kind in ("studies", "search_spaces"):
        expected = {f"robustness/bundled/{kind}/{path.name}" for path in (ROOT / kind).glob("*.yaml")}
        assert expected
        assert expected <= names
    assert not any(name.startswith(("tests/", "benchmarks/", "data/")) for name in names)


def test_a_bundled_study_is_found_by_name_away_from_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    installed, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    elsewhere.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    done = subprocess.run(
        [sys.executable, "-m", "robustness", "plan", "quickstart", "--json"],
        cwd=elsewhere,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["configurations"] == 20
    assert list(elsewhere.iterdir()) == []
