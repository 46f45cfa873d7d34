"""A method, a task, a trainable and a section of a separate package, installed by pip, work like bundled ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tests" / "support" / "plugin_package"
WALKS: dict[str, Any] = {
    "name": "walks",
    "trainable": "walk",
    "arms": ["plain", "drifting"],
    "space": {"size": [0.1, 1.0]},
    "sampling": {"strategy": "grid"},
    "outcomes": {"metric": "position", "learned_nothing": {"below": 0.0}, "good": {"at_least": 1.0}},
}
STRIPES: dict[str, Any] = {
    "name": "striped",
    "task": {"name": "stripes"},
    "model": {"name": "vgg_small", "base_channels": 4, "depth": "short"},
    "arms": ["deterministic", {"name": "frozen", "rho": -5.0}],
    "space": {"optimizer": "amsgrad", "learning_rate": [0.001, 0.0001], "batch_size": 20},
    "sampling": {"strategy": "grid"},
    "training": {"epochs": 2, "pretrain_epochs": 0, "evaluation_samples": 2},
    "outcomes": {"learned_nothing": {"below": 0.5}, "good": {"at_least": 0.8}},
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the package."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    shutil.copytree(PACKAGE, source)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    target = folder / "site"
    done = subprocess.run(
        [*command, "--target", str(target), str(source)], capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return target


def python(installed: Path, *arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(installed)]), **variables}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def swept(installed: Path, study: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The JSON of the study's report after a sweep."""
    (folder / "study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
    done = python(installed, "-m", "robustness", "sweep", "study.yaml", "--inline", "--quiet", folder=folder)
    assert done.returncode == 0, done.stderr
    done = python(
        installed, "-m", "robustness", "report", "study.yaml", "--format", "json", "--out", "out.json", folder=folder
    )
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    return results


def test_a_trainable_and_a_section_by_entry_point(installed: Path, tmp_path: Path) -> None:
    results = swept(installed, WALKS, tmp_path)
    assert results["arms"]["drifting"]["trials"] == 2
    assert set(results["steps"]) == {"plain", "drifting"}
    assert "Longest steps" in (tmp_path / "walks.html").read_text(encoding="utf-8")


def test_its_check_refuses_an_unknown_option_in_one_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(yaml.safe_dump({**WALKS, "training": {"epoch": 3}}), encoding="utf-8")
    done = python(installed, "-m", "robustness", "plan", "study.yaml", folder=tmp_path)
    assert done.returncode == 2
    assert "study.yaml: training.epoch: unknown key" in done.stderr


def test_a_method_and_a_task_by_entry_point(installed: Path, tmp_path: Path) -> None:
    results = swept(installed, STRIPES, tmp_path)
    assert results["complete"]
    assert results["arms"]["frozen"]["counted"] == 2
    # The section of the package has nothing to say about a study of another kind, and is not on its page.
    assert "Longest steps" not in (tmp_path / "striped.html").read_text(encoding="utf-8")


def test_an_unknown_name_is_answered_with_the_installed_ones_too(installed: Path, tmp_path: Path) -> None:
    for change, offered in (
        ({"arms": ["frozn"]}, "frozen"),
        ({"task": {"name": "strips"}}, "stripes"),
        ({"trainable": "wlak"}, "walk"),
    ):
        (tmp_path / "study.yaml").write_text(yaml.safe_dump({**STRIPES, **change}), encoding="utf-8")
        done = python(installed, "-m", "robustness", "plan", "study.yaml", folder=tmp_path)
        assert done.returncode == 2, change
        assert f"did you mean '{offered}'?" in done.stderr, change


def test_a_section_that_fails_is_told_on_the_page_and_the_report_is_written(installed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(installed, broken)
    section = broken / "robustness_example" / "steps.py"
    section.write_text(section.read_text().replace("longest = own", "longest = nowhere"), encoding="utf-8")
    results = swept(broken, WALKS, tmp_path)
    assert results["steps"]["error"] == "NameError: name 'nowhere' is not defined"
    assert "could not be made: NameError" in (tmp_path / "walks.html").read_text(encoding="utf-8")


def test_the_package_keeps_its_contracts_until_a_leak_is_planted(installed: Path, tmp_path: Path) -> None:
    tests = PACKAGE / "contracts.py"
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tests)]
    done = python(installed, *command, folder=tmp_path)
    assert done.returncode == 0, done.stdout
    leaking = python(installed, *command, "-k", "TestWalk", folder=tmp_path, ROBUSTNESS_EXAMPLE_LEAK="1")
    assert leaking.returncode == 1, leaking.stdout
    assert "test_nothing_is_left_over_from_the_trial_before" in leaking.stdout
    assert "test_the_same_trial_gives_the_same_numbers" in leaking.stdout
