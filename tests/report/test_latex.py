"""The LaTeX of a report: its numbers are those of the JSON, and a parser finds nothing wrong with it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.results import ends, present
from support.stores import AWKWARD, paper_like

from report.analysis import Analysis, analyse
from report.exports import latex
from report.exports.latex import as_latex, escaped
from robustness.cli import main
from robustness.store import open_store

SPECIAL = re.compile(r"(?<!\\)(?:\\\\)*[#_^~]")


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('latex') / 'store.db'}") as store:
        return analyse(paper_like(store, configurations=20, epochs=4))


def check(latex: str) -> None:
    """Raise unless braces and environments match, rows have their columns, and no special character is bare."""
    body = re.sub(r"(?<!\\)%.*", "", latex)
    depth = 0
    for mark in re.findall(r"(?<!\\)[{}]", body):
        depth += 1 if mark == "{" else -1
        assert depth >= 0
    assert depth == 0
    open_now: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            open_now.append(name)
        else:
            assert open_now.pop() == name
    assert not open_now
    assert len(re.findall(r"(?<!\\)\$", body)) % 2 == 0
    assert not SPECIAL.search(re.sub(r"(?<!\\)\$[^$]*(?<!\\)\$", "", body))
    for table in re.findall(r"\\begin\{tabular\}\{@\{\}(l+)@\{\}\}(.*?)\\end\{tabular\}", body, flags=re.DOTALL):
        rows = [row for row in table[1].split(r"\\") if "&" in row]
        assert rows
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(table[0])}
    assert body.isascii()


def test_its_numbers_are_those_of_the_json(analysis: Analysis) -> None:
    text = as_latex(analysis)
    check(text)
    for entry in analysis.results["arms"].values():
        for outcome in (entry["learned_nothing"], entry["good"]):
            low, high = ends(outcome)
            cell = f"{100 * present(outcome['fraction']):.1f} [{100 * low:.1f}, {100 * high:.1f}]"
            assert cell in text
    paired = next(entry for entry in analysis.results["paired"] if entry["epoch"] == analysis.results["epoch"])
    assert f"{100 * present(paired['difference']):.1f} [".replace("-", "$-$") in text
    assert f"{analysis.results['sampling']['pairs']} complete pairs" in text
    assert f"{analysis.results['spread']['arms']['radial']['sd']:.3f}" in text


@pytest.mark.parametrize("name", sorted(AWKWARD))
def test_awkward_studies_are_written_without_a_fault(name: str, awkward: Callable[[str], object]) -> None:
    written = awkward(name)
    check(as_latex(written.analysis))  # type: ignore[attr-defined]


def test_numbers_are_set_as_numbers() -> None:
    assert latex._p(4.2e-10) == r"$4.2 \times 10^{-10}$"
    assert latex._p(0.031) == "0.031"
    assert latex._signs("47 % (36-57 %), -45 points (-56 to -35)") == "47 % (36-57 %), $-$45 points ($-$56 to $-$35)"


def test_special_characters_are_escaped() -> None:
    assert escaped(r"a_b & 50 % {x} \cmd $1 #2") == r"a\_b \& 50 \% \{x\} \textbackslash{}cmd \$1 \#2"
    assert escaped("né\N{MINUS SIGN}1\x00") == "ne-1?"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_it_compiles(analysis: Analysis, tmp_path: Path) -> None:
    (tmp_path / "study.tex").write_text(as_latex(analysis), encoding="ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "study.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


def test_the_command_writes_a_tex_file_that_it_may_replace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(url) as store:
        name = paper_like(store, configurations=4, epochs=2).name
    for _ in range(2):
        assert main(["report", name, "--store", url, "--format", "latex", "--out", "study.tex", "--quiet"]) == 0
    check((tmp_path / "study.tex").read_text(encoding="utf-8"))
