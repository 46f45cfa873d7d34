"""The README: short, and its three ways in run as they stand."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from support.pages import blocks, robustness_calls

from robustness.cli import COMMANDS, make_parser
from robustness.study.bundled import bundled_names

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MOST_LINES = 150
MOST_BYTES_OF_A_PICTURE = 200_000


def calls() -> list[list[str]]:
    return [words for block in blocks(README, "sh") for words in robustness_calls(block)]


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell script in which `robustness` is this tree's."""
    tool = f'set -e\nrobustness() {{ {shlex.quote(sys.executable)} -m robustness "$@"; }}\n'
    environment = {name: value for name, value in os.environ.items() if name != "ROBUSTNESS_STORE"}
    return subprocess.run(
        ["bash", "-c", tool + script],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("words", calls(), ids=" ".join)
def test_the_tool_understands_each_command(words: list[str]) -> None:
    asked = make_parser().parse_args(words)
    assert asked.command in COMMANDS
    if asked.command in {"sweep", "optimize", "plan"}:
        assert asked.study in bundled_names("studies")


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_its_first_screen_has_the_question_and_a_small_picture_of_the_page() -> None:
    first = README.read_text(encoding="utf-8")[:600]
    assert "Is method A less sensitive to its hyperparameters than method B, and how sure can we be?" in first
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", first)
    assert 5_000 < (ROOT / picture).stat().st_size < MOST_BYTES_OF_A_PICTURE


def test_runs_that_one_has_become_a_report(tmp_path: Path) -> None:
    (tables,) = (block for block in blocks(README, "sh") if "runs.csv" in block)
    (database,) = (block for block in blocks(README, "sh") if "optuna:" in block)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for name in ("sgd", "adam"):
        sampler = optuna.samplers.RandomSampler(seed=1)
        study = optuna.create_study(
            study_name=name, storage=f"sqlite:///{tmp_path / 'optuna.db'}", direction="maximize", sampler=sampler
        )
        study.optimize(lambda trial: trial.suggest_float("lr", 0.0, 1.0), n_trials=6)
    done = run(tables + database, tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("mine", "tuned"):
        assert f"<h1>{name}</h1>" in (tmp_path / f"{name}.html").read_text(encoding="utf-8")


def test_the_notebook_cell_runs_and_answers(tmp_path: Path) -> None:
    (cell,) = blocks(README, "python")
    done = run(f"{shlex.quote(sys.executable)} -c {shlex.quote(cell + 'print(result.verdict)')}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rmsprop is less sensitive to its hyperparameters than sgd, by" in done.stdout
    assert (tmp_path / "descent.html").is_file()


def test_the_bundled_study_is_the_one_whose_answer_is_shown(tmp_path: Path) -> None:
    done = run("robustness plan quickstart", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "trials: 40 = 20 configurations x 2 arms (mfvi, radial)" in done.stdout
    assert "mfvi learned nothing in 14 of 20" in README.read_text(encoding="utf-8")
