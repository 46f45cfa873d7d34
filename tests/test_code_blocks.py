"""The code on every page: commands parsed, study files validated, Python compiled, tutorials run as they stand."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.pages import blocks, robustness_calls
from support.programs import run

import robustness
from report import Topic
from robustness.cli import make_parser
from robustness.errors import RobustnessError, SearchSpaceError
from robustness.space.space import read_space
from robustness.study.bundled import bundled_names
from robustness.study.loading import make_study
from robustness.study.sections import StudyFile

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LANGUAGES = {"math", "python", "sh", "text", "toml", "yaml"}
NETWORKS: dict[str, Any] = {
    "name": "base",
    "task": {"name": "synthetic_fundus", "image_size": 16},
    "model": {"name": "vgg_small", "base_channels": 8, "depth": "short"},
    "arms": ["mfvi", "radial"],
    "space": "paper_random",
    "sampling": {"configurations": 4},
    "training": {"epochs": 4},
    "outcomes": {"metric": "validation_auc", "equivalent_within": 0.05}
    | {"learned_nothing": {"below": 0.6}, "good": {"at_least": 0.8}},
}
"""A study that a fragment on a page is put into; if it does not fit there, it is one with its own code:"""
OWN: dict[str, Any] = {
    "name": "base",
    "trainable": "own_code:train",
    "arms": ["sgd", "adam"],
    "sampling": {"configurations": 4},
    "outcomes": {"metric": "validation_accuracy"},
}


def each(language: str) -> list[Any]:
    """Every block of a language, with its place as a test's name."""
    return [
        pytest.param(page, code, id=f"{page.relative_to(ROOT)}[{number}]")
        for page in PAGES
        for number, code in enumerate(blocks(page, language))
    ]


def files(page: Path, folder: Path) -> None:
    """Write each block that the text before it names, such as `train.py`, into a folder."""
    text = page.read_text(encoding="utf-8")
    for before, _, code in re.findall(r"(?:\A|^```$)(.*?)^```(python|yaml)\n(.*?)(?=^```$)", text, re.M | re.S):
        named = re.findall(r"`(\w+\.(?:py|yaml))`", before)
        if named:
            (folder / named[-1]).write_text(code, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_has_a_language_that_is_checked(page: Path) -> None:
    fences = re.findall(r"^\s*```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(fences[::2]) <= LANGUAGES
    assert set(fences[1::2]) <= {""}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_tool_understands_every_command(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    indented = re.findall(r"^ {4,}((?:robustness (?!\w+:)|make |ray ).*)$", text, re.MULTILINE)
    for script in [*blocks(page, "sh"), *indented]:
        parsed = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True, check=False)
        assert parsed.returncode == 0, parsed.stderr
        for words in robustness_calls(script):
            asked = make_parser().parse_args(words)
            named = asked.study if asked.command in {"sweep", "optimize", "plan"} else "quickstart"
            if not named.endswith(".yaml") and named != "STUDY":
                assert named in bundled_names("studies"), words


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        for script in blocks(page, "sh"):
            for line in script.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == ["make"]:
                    assert {word for word in words[1:] if "=" not in word} <= targets, line


@pytest.mark.parametrize(("page", "code"), each("toml"))
def test_toml_is_valid(page: Path, code: str) -> None:
    assert tomllib.loads(code)


@pytest.mark.parametrize(("page", "code"), each("python"))
def test_python_compiles(page: Path, code: str) -> None:
    assert compile(code, str(page), "exec")


@pytest.mark.parametrize(("page", "code"), each("yaml"))
def test_yaml_is_a_study_or_a_part_of_one(
    page: Path, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(page, tmp_path)
    (tmp_path / "own_code.py").write_text("def train(trial): ...\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    data = yaml.safe_load(code)
    assert isinstance(data, dict)
    if not set(data) <= set(StudyFile.model_fields):
        assert read_space(data, str(page)).data == data
        return
    problems = []
    for base in (NETWORKS, OWN):
        whole = data if "name" in data else filled(base, data)
        try:
            study = make_study(whole, str(page), tmp_path, check_data=False)
        except (RobustnessError, SearchSpaceError) as error:
            problems.append(str(error))
            continue
        assert study.arms
        return
    pytest.fail(" / ".join(problems))


def filled(base: Mapping[str, Any], fragment: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the fragment in it, and without what excludes one of its keys."""
    whole = dict(base) | dict(fragment)
    if "tasks" in fragment:
        whole["task"] = None
    if "search" in fragment:
        whole["sampling"] = {"configurations": fragment["search"]["runs"]}
    return whole


def test_my_runs(tmp_path: Path) -> None:
    page = ROOT / "docs" / "tutorials" / "my_runs.md"
    (script,) = blocks(page, "python")
    run(["-c", script], tmp_path)
    shell = "".join(blocks(page, "sh"))
    tool = f'set -e\nrobustness() {{ {shlex.quote(sys.executable)} -m robustness "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", tool + shell],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "40 of 40 configurations occur in all arms" in done.stdout
    assert {"searches.html", "table.html"} <= {path.name for path in tmp_path.iterdir()}


def test_my_function(tmp_path: Path) -> None:
    script = "".join(blocks(ROOT / "docs" / "tutorials" / "my_function.md", "python"))
    printed = run(["-c", f"{script}\nprint(len(trials), len(failed))"], tmp_path)
    verdict, counts = printed.strip().rsplit("\n", 1)
    assert "40 pairs" in verdict
    trials, failed = map(int, counts.split())
    assert trials == 80
    assert 0 < failed < trials
    assert (tmp_path / "descent.html").is_file()


def test_my_command(tmp_path: Path) -> None:
    page = ROOT / "docs" / "tutorials" / "my_command.md"
    files(page, tmp_path)
    for words in robustness_calls("".join(blocks(page, "sh"))):
        run(["-m", "robustness", *words], tmp_path)
    result = robustness.Result(f"sqlite:///{tmp_path / 'robustness.db'}", "descent")
    assert set(result.trials["status"]) == {"finished"}
    assert len(result.trials) == 20
    assert (tmp_path / "descent.html").is_file()


def test_the_result_of_a_stored_study_in_a_notebook(tmp_path: Path) -> None:
    csv = "learning_rate,arm,metric\n0.1,sgd,0.52\n0.1,adam,0.81\n"
    (tmp_path / "runs.csv").write_text(csv, encoding="utf-8")
    run(["-m", "robustness", "import", "runs.csv", "--study", "quickstart"], tmp_path)
    (cell,) = blocks(ROOT / "docs" / "get_started.md", "python")
    printed = run(["-c", f"{cell}\nprint(sorted(set(trials['arm'])), len(epochs))"], tmp_path)
    assert printed.strip() == "['adam', 'sgd'] 2"


def test_an_own_method_and_an_own_task_train(tmp_path: Path) -> None:
    for page in ("own_method", "own_task"):
        files(ROOT / "docs" / "how_to" / f"{page}.md", tmp_path)
    study = NETWORKS | {
        "task": {"name": "stripes", "pictures": 20},
        "arms": ["mfvi", {"name": "frozen", "method": "frozen:METHOD", "rho": -4.0}],
        "sampling": {"configurations": 1},
        "training": {"epochs": 2},
    }
    (tmp_path / "study.yaml").write_text(json.dumps(study), encoding="utf-8")
    run(["-m", "robustness", "sweep", "study.yaml", "--inline", "--quiet", "--no-report"], tmp_path)
    result = robustness.Result(f"sqlite:///{tmp_path / 'robustness.db'}", "base")
    assert result.trials["status"].tolist() == ["finished", "finished"]


def test_an_own_section_computes_and_shows(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "docs" / "how_to" / "own_section.md", "python")
    space: dict[str, Any] = {}
    exec(compile(code, "own_section.md", "exec"), space)  # noqa: S102 - a page of this project
    (tmp_path / "runs.csv").write_text("lr,arm,metric\n0.1,sgd,0.5\n0.1,adam,0.8\n", encoding="utf-8")
    run(["-m", "robustness", "import", "runs.csv", "--study", "mine"], tmp_path)
    analysis = robustness.Result(f"sqlite:///{tmp_path / 'robustness.db'}", "mine").analysis
    assert isinstance(space["TOPIC"], Topic)
    assert set(space["results"](analysis.study)) == {"sgd", "adam"}
