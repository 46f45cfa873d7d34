"""The package: what wheel and sdist hold, that they run where the project is not, and which versions they need."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import robustness

ROOT = Path(__file__).parents[1]


def build(source: Path, folder: Path) -> Path:
    """Build the wheel of a source tree or of an sdist."""
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    done = subprocess.run(
        [*command, "--wheel-dir", str(folder), str(source)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("robustness_study-*.whl")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("robustness_study-*.tar.gz")
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


def test_the_sdist_holds_the_project_and_makes_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "docs/index.md", "studies/quickstart.yaml"}
    assert needed <= names
    assert "tests/test_wheel.py" in names
    again = build(sdist, tmp_path)
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert set(one.namelist()) == set(other.namelist())


def test_the_wheel_runs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """An environment with nothing of this project; for speed it sees the other packages that are installed here."""
    environment, folder = tmp_path / "environment", tmp_path / "elsewhere"
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    bin_folder = environment / "bin"
    install = [sys.executable, "-m", "pip", "--python", str(bin_folder / "python"), "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True)
    (packages,) = (environment / "lib").glob("python*/site-packages")
    # A path in a .pth file is searched last, and its own .pth files, such as that of an editable install, are not read.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ROBUSTNESS_STORE")}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=folder, env=clean, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    printed = run(str(bin_folder / "python"), "-c", "import robustness as rb; print(rb.__version__, rb.sweep.__file__)")
    version, place = printed.split()
    assert version == robustness.__version__
    assert Path(place).is_relative_to(environment)
    small = ("sampling.configurations=1", "training.epochs=2", "outcomes.learned_nothing={below: 0.6}")
    sets = [word for each in small for word in ("--set", each)]
    printed = run(str(bin_folder / "robustness"), "sweep", "quickstart", "--inline", *sets)
    assert "report: quickstart.html" in printed
    assert "<h1>quickstart</h1>" in (folder / "quickstart.html").read_text(encoding="utf-8")


def test_the_version_stands_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == robustness.__version__
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == robustness.__version__


def test_the_tested_minima_are_those_that_the_package_names() -> None:
    """`.ci/minimum` runs the fast tests with these; torch is as old as can be had for CPUs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *extras["postgres"], *extras["serve"]]
    bounds = {}
    for requirement in map(Requirement, named):
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        bounds[requirement.name.lower()] = bound.version
    lines = (ROOT / "constraints-minimum.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.lower().split("==") for line in lines if "==" in line and not line.startswith("#"))
    assert set(bounds) - set(tested) == set()
    assert {name: tested[name] for name in bounds if name != "torch"} == {
        name: bound for name, bound in bounds.items() if name != "torch"
    }
