"""The README: the tool knows its commands, and those that take seconds run as they stand."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.stores import fill, made_study

from robustness.cli import COMMANDS, make_parser
from robustness.errors import StudyFileError
from robustness.store import open_store
from robustness.study.bundled import bundled_names
from robustness.study.yaml_reader import read_file, read_text

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code in one language, block by block."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[list[str]]:
    """The words of each call of `robustness` in the shell's blocks."""
    found = []
    for line in "".join(blocks("sh")).splitlines():
        for part in line.split("&&"):
            words = shlex.split(part, comments=True)
            if words[:1] == ["robustness"]:
                found.append(words[1:])
    return found


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_tool_understands_each_command(words: list[str]) -> None:
    asked = make_parser().parse_args(words)
    assert asked.command in COMMANDS
    if asked.command in {"sweep", "optimize", "plan"}:
        assert asked.study in bundled_names("studies")


def test_every_bundled_study_is_in_the_table() -> None:
    table = README[README.index("| study | question |") :].split("\n\n")[0]
    named = set(re.findall(r"`([a-z_]+)`", table)) - {"optimize"}
    small = {f"{name}_small" for name in named} if "_small" in named else set()
    assert set(bundled_names("studies")) <= named | small
    assert named - {"_small"} <= set(bundled_names("studies"))


def test_every_method_that_is_named_exists() -> None:
    from robustness.methods import find_method

    table = README[README.index("| name | what it is |") :].split("\n\n")[0]
    names = re.findall(r"`([a-z_]+)`", table)
    assert len(names) >= 10
    for name in names:
        assert find_method(name) is not None


def test_the_study_file_is_the_bundled_one_without_its_comments() -> None:
    (shown,) = (block for block in blocks("yaml") if "name: quickstart" in block)
    study = read_text(shown, "README.md", StudyFileError)
    bundled = read_file(ROOT / "studies" / "quickstart.yaml", StudyFileError)
    del bundled["description"], bundled["outcomes"]["primary"]
    assert study == bundled


def test_what_takes_seconds_runs_as_it_stands(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'robustness.db'}") as store:
        fill(store, made_study("quickstart"))
    (imports,) = (block for block in blocks("sh") if "robustness import" in block)
    (looks,) = (block for block in blocks("sh") if "robustness plan" in block)
    looks = looks.replace("robustness doctor", "true")  # which may well find fault with this machine
    script = f'set -e\nrobustness() {{ "{sys.executable}" -m robustness "$@"; }}\n{imports}\n{looks}'
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("ROBUSTNESS_STORE", None)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "<h1>elsewhere</h1>" in (tmp_path / "elsewhere.html").read_text(encoding="utf-8")
    assert "20 configurations" in done.stdout
    (notebook,) = (block for block in blocks("python") if '"quickstart"' in block)
    program = [sys.executable, "-c", f"{notebook}\nprint(len(trials), len(epochs))"]
    done = subprocess.run(
        program, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.split() == ["24", str(24 * 12)], done.stderr
