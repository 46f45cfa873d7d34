"""The worked example in docs/your_own_study.md, run as a reader would."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "your_own_study.md"
MOST_LINES = 60


def block(language: str) -> str:
    """The page's one block of code in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_example_is_short() -> None:
    lines = [line for language in ("python", "yaml") for line in block(language).splitlines() if line.strip()]
    assert len(lines) < MOST_LINES


@pytest.mark.xdist_group("ray")
def test_the_example_runs_as_it_stands_and_answers_its_question(tmp_path: Path) -> None:
    (tmp_path / "spirals.py").write_text(block("python"), encoding="utf-8")
    (tmp_path / "spirals.yaml").write_text(block("yaml"), encoding="utf-8")
    commands = [shlex.split(line, comments=True) for line in block("sh").splitlines()]
    assert [command[:2] for command in commands] == [["robustness", job] for job in ("plan", "sweep", "report")]
    environment = os.environ | {"PYTHONPATH": str(PAGE.parents[1])}
    outputs = []
    for _, *arguments in commands:
        program = [sys.executable, "-m", "robustness", *arguments]
        done = subprocess.run(
            program, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert "30 configurations" in outputs[0]
    assert "report: spirals.html" in outputs[1]
    assert "<h1>spirals</h1>" in (tmp_path / "spirals.html").read_text(encoding="utf-8")
    results = json.loads((tmp_path / "spirals.json").read_text(encoding="utf-8"))
    assert results["complete"]
    assert results["sampling"]["pairs"] == 30
    assert "30 pairs" in " ".join(results["verdict"])
    # Each optimiser learns with some of its configurations, and with some it does not.
    for found in results["arms"].values():
        assert 0 < found["good"]["count"] < 30
