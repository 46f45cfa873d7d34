"""`robustness optimize` from the command line: what it prints and leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from support.branin import branin_document

from robustness.cli import main


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "branin.yaml").write_text(yaml.safe_dump(branin_document(search={"runs": 2})))
    return ["optimize", "branin.yaml", "--store", f"sqlite:///{tmp_path / 'store.db'}", "--inline"]


def test_it_ends_with_the_winners_and_the_path_of_the_report(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("only: best validation_auc 0.")
    assert lines[-1] == "report: branin.html"
    assert "that each arm&#39;s search found: only 0." in Path("branin.html").read_text(encoding="utf-8")


def test_without_a_report_no_file_is_left(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--no-report", "--quiet"]) == 0
    assert "report:" not in capsys.readouterr().out
    assert not Path("branin.html").exists()
