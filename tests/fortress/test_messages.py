"""Nothing is injected: names, files, errors and imports reach a terminal, a table and a spreadsheet as plain text."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from support.hostile import EVIL, NAMES, is_one_safe_line
from support.importing import imported
from support.stores import fill, made_study

from report.exports import results_csv
from robustness.api.progress_lines import tell
from robustness.cli import main, print_error
from robustness.cli.display import progress_block, value_text
from robustness.errors import RobustnessError
from robustness.files import file_name
from robustness.guards.printable import escaped, printable, printable_json
from robustness.guards.tables import is_neutralised, neutral, plain
from robustness.store import open_store
from robustness.study.arms import check_label
from robustness.sweep.progress import SweepProgress
from robustness.trial import Status, TrialKey


@pytest.mark.parametrize("name", EVIL)
def test_an_evil_text_is_shown_escaped(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = EVIL[name]
    assert is_one_safe_line(printable(text))
    assert printable(text) != text
    assert printable(text).encode("utf-8")
    print_error(RobustnessError(f"file {text}:\nsecond line"))
    assert is_one_safe_line(capsys.readouterr().err)
    tell(text)
    assert is_one_safe_line(capsys.readouterr().err)
    assert is_one_safe_line(value_text(text))
    assert json.loads(printable_json({"a": text})) == {"a": text}
    assert is_one_safe_line(printable_json({"a": text}))


@pytest.mark.parametrize("name", NAMES)
def test_a_long_name_in_any_script_is_itself(name: str) -> None:
    assert printable(NAMES[name]) == NAMES[name]
    check_label(NAMES[name], "name")
    assert len(file_name(NAMES[name]).encode()) <= 130


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec=None)))
def test_any_text_becomes_one_printable_line(text: str) -> None:
    shown = printable(text)
    assert all(c.isprintable() or c.isspace() for c in shown)
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == " ".join(shown.split())
    assert "\x1b" not in escaped(text)
    assert json.loads(printable_json(text)) == text


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_file_names_are_safe_and_never_shared(first: str, second: str) -> None:
    names = [file_name(text) for text in (first, second)]
    for name in names:
        assert name
        assert not set(name) & set('/\\:*?"<>|\0\n')
        assert len(name.encode()) <= 130
        assert not name.startswith(".")
    assert (names[0] == names[1]) == (first == second)


@pytest.mark.parametrize("name", ["mfvi", "radial", "my arm", "a-b_c.d", "arm (2)", "Größe", "半径"])
def test_an_ordinary_name_stays(name: str) -> None:
    assert file_name(name) == name


@pytest.mark.parametrize("name", ["", "con", "NUL", "com1.txt", "a/b", "..", ".hidden", "a" * 300, "a:b"])
def test_a_name_that_some_system_refuses_is_changed(name: str) -> None:
    assert file_name(name) != name


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@sum",
    "=cmd|' /C calc'!A0",
    "\t=1",
    "\r=1",
    "'=1",
    "''+1",
    "＝1",
    "-",
    "=HYPERLINK(0)",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_neutralised_and_reads_back(text: str) -> None:
    assert neutral(text)[0] == "'"
    assert is_neutralised(neutral(text))
    assert plain(neutral(text)) == text


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=20))
def test_any_cell_reads_back(text: str) -> None:
    assert plain(neutral(text)) == text
    assert neutral(text)[:1] not in ("=", "+", "-", "@", "\t", "\r", "\n")


def write_csv(path: Path, rows: list[list[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_our_own_export_can_be_imported_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows: list[list[object]] = [["arm", "metric", "=rate", "kind"]]
    rows += [[arm, 0.5 + n / 100, -n / 7, f"=kind{n % 2}"] for n in range(6) for arm in ("-a", "@b")]
    path = write_csv(tmp_path / "runs.csv", rows)
    words = ["import", str(path), "--study", "first", "--good", "0.5", "--learned-nothing", "0.1", "--metric", "metric"]
    assert main(words) == 0
    assert main(["report", "first", "--format", "csv", "--out", "first.csv"]) == 0
    content = Path("first.csv").read_text(encoding="utf-8")
    cells = [cell for row in csv.reader(io.StringIO(content)) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+@" and cell]
    assert "'-a" in cells
    assert "-0.14285714285714285" in cells
    words = ["import", "first.csv", "--study", "second", "--good", "0.5", "--learned-nothing", "0.1"]
    assert main(words) == 0
    with open_store(None) as store:
        first, second = (store.study(name).configurations() for name in ("first", "second"))
        assert first == second
        assert {key.arm for key in store.study("second").states()} == {"-a", "@b"}


@pytest.mark.parametrize("name", [*EVIL, "slash", "backslash", "dot", "long", "blank"])
def test_labels_from_imports_obey_the_rules_of_study_files(name: str, tmp_path: Path) -> None:
    odd = {"slash": "a/b", "backslash": "a\\b", "dot": ".a", "long": "x" * 101, "blank": ""}
    label = EVIL.get(name, odd.get(name, ""))
    path = tmp_path / "runs.csv"
    path.write_bytes(f'arm,metric,rate\n"{label}",0.5,1\n'.encode(errors="surrogatepass"))
    with pytest.raises(RobustnessError) as refusal:
        imported(path)
    assert is_one_safe_line(printable(refusal.value))


@pytest.mark.parametrize("column", ["a\x1b[31m", "a\u202eb", "x" * 101, " a", "a\nb"])
def test_names_of_columns_obey_them_too(column: str, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "runs.csv", [["arm", "metric", column], ["a", 0.5, 1]])
    with pytest.raises(RobustnessError, match="printable characters") as refusal:
        imported(path)
    assert is_one_safe_line(str(refusal.value))


def test_a_store_that_someone_else_filled_is_shown_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    evil = "\x1b[31m\u202eevil[red]"
    with open_store(None) as store:
        filled = fill(store, made_study())
        progress = SweepProgress.of(filled)
    states: dict[TrialKey, Status] = {replace_arm(key, evil): "failed" for key in progress.states}
    errors = dict.fromkeys(states, f"E: {evil}")
    progress = replace(progress, study=evil, metric=evil, states=states, errors=errors, outcomes={})
    Console(file=(shown := io.StringIO()), width=200).print(progress_block(progress))
    assert "\x1b" not in shown.getvalue()
    assert "\u202e" not in shown.getvalue()
    assert all(is_one_safe_line(printable(line)) for line in progress.failed_trials())


def replace_arm(key: Any, arm: str) -> Any:
    return key._replace(arm=arm)


@pytest.mark.parametrize(
    "words",
    [
        ["sweep"],
        ["swep", "x"],
        ["sweep", "x", "--workers", "0"],
        ["sweep", "x", "--workers", "\x1b[31m"],
        ["plan", "x", "--difference", "7"],
        ["report", "x", "--format", "exe"],
        ["report", "x", "--nonsense"],
        ["prepare", "retinopathy", "--images", "a"],
        ["predict"],
        ["predict", "a.pt", "b.png", "--samples", "x"],
        ["import", "a.csv", "--study", "x", "--good", "high", "--learned-nothing", "0"],
        ["sweep", "x", "--only", "1/a", "--retry"],
        ["status", "a", "b"],
        ["--nonsense"],
    ],
)
def test_a_bad_option_is_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        main(words)
    assert ending.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert is_one_safe_line(shown.err)
    assert shown.err.startswith("robustness: ")
    assert "--help)" in shown.err


def test_the_results_of_a_made_study_hold_no_formula(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 's.db'}") as store:
        table = results_csv(fill(store, made_study()))
    assert "'" not in table
    assert ",-" in table  # Negative numbers stay numbers.
