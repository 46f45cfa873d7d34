from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from support.stores import HOSTILE, fill, hostile, made_study

from report.sections.cautions import cautions
from robustness import Result
from robustness.cli import main
from robustness.store import open_store


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path / 'made.db'}"
    monkeypatch.setenv("ROBUSTNESS_STORE", url)
    with open_store(url) as store:
        fill(store, made_study())
        hostile(store)
    return url


@pytest.mark.usefixtures("url")
def test_csv_goes_to_standard_output_or_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "made", "--format", "csv"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("configuration,replicate,arm,")
    assert main(["report", "made", "--format", "csv", "--out", "made.csv"]) == 0
    assert capsys.readouterr().out == "made.csv\n"
    assert Path("made.csv").read_text(encoding="utf-8") == text


@pytest.mark.usefixtures("url")
def test_json_and_parquet_are_written_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "made", "--format", "json", "--out", "deep/results.json"]) == 0
    assert json.loads(Path("deep/results.json").read_text(encoding="utf-8"))["study"] == "made"
    assert main(["report", "made", "--format", "parquet", "--out", "deep", "--quiet"]) == 0
    assert len(pd.read_parquet("deep/made.parquet")) == 24
    assert capsys.readouterr().out == "deep/results.json\n"


@pytest.mark.usefixtures("url")
def test_a_page_is_announced_with_its_verdict_and_the_number_of_its_caveats(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", "made", "--out", "page.html"]) == 0
    *verdict, caveats, path = capsys.readouterr().out.splitlines()
    result = Result(None, "made")
    assert "\n".join(verdict) == result.verdict
    count = len(cautions(result.analysis))
    assert (caveats, path) == (f"{count} caveats on the page", "report: page.html")
    assert count > 1
    assert main(["report", "made", "--out", "page.html", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("url")
def test_a_study_file_stands_for_the_study_of_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    Path("my.yaml").write_text("name: made\n", encoding="utf-8")
    assert main(["report", "my.yaml", "--format", "csv", "--out", "-"]) == 0
    assert capsys.readouterr().out.startswith("configuration,")


@pytest.mark.usefixtures("url")
def test_a_name_that_no_file_can_have_is_made_one() -> None:
    assert main(["report", f"study {HOSTILE[0]}", "--format", "parquet", "--quiet"]) == 0
    (written,) = Path().glob("*.parquet")
    assert written.name.startswith("study _script_alert(1)__script_-")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["report", "mades"], "did you mean 'made'?"),
        (["report", "missing.yaml"], "no such file"),
        (["report", "made", "--store", "sqlite:///nothing.db"], "does not exist"),
        (["report", "made", "--format", "csv", "--out", "made.db/x.csv"], "cannot be written"),
    ],
)
@pytest.mark.usefixtures("url")
def test_what_cannot_be_done_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(words) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
