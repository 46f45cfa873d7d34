"""`Result`: a stored study's verdict, tables, figures and page, and what a notebook shows of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stores import HOSTILE, Made, fill, made_study, renamed_arms

from robustness.api.result import Result
from robustness.errors import RobustnessError, StoreError
from robustness.store import open_store
from robustness.store.schema import MEASURES


@pytest.fixture
def result(tmp_path: Path) -> Result:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        return Result.of(fill(store, made_study()))


def test_a_result_has_the_verdict_the_tables_and_the_json_of_its_study(result: Result) -> None:
    assert "12 pair" in result.verdict
    assert len(result.trials) == 24
    assert {"learning_rate", "status", "outcome_best", "error"} <= set(result.trials.columns)
    assert len(result.epochs) == result.trials["epochs"].sum() + 24  # one epoch of pre-training each
    assert result.results["study"] == "made"


def test_the_epochs_have_a_column_for_each_usual_measure_though_no_trial_has_it(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        bare = Result.of(fill(store, made_study(), lambda _, epochs: Made(scores=[0.7] * epochs, measures=False)))
    assert set(MEASURES) < set(bare.epochs.columns)
    assert bare.epochs["gradient_sd"].isna().all()
    assert bare.epochs["validation_auc"].notna().all()


def test_a_figure_is_found_by_its_own_name_or_its_sections(result: Result) -> None:
    by_section = result.plot("profiles")
    assert by_section.axes
    assert result.plot().axes[0].get_xlabel() == result.plot("verdict").axes[0].get_xlabel()
    assert next(iter(result.figures)) == "verdict"
    with pytest.raises(RobustnessError, match="unknown figure 'profils'; did you mean 'profiles'") as raised:
        result.plot("profils")
    assert "choose from" not in str(raised.value)
    with pytest.raises(RobustnessError, match="unknown figure 'zzz'") as raised:
        result.plot("zzz")
    assert all(name in str(raised.value) for name in result.figures)


def test_the_report_is_written_and_replaces_nothing_foreign(result: Result, tmp_path: Path) -> None:
    assert result.report(tmp_path / "x.html") == tmp_path / "x.html"
    assert "<h1>made</h1>" in (tmp_path / "x.html").read_text(encoding="utf-8")
    (tmp_path / "notes.html").write_text("mine", encoding="utf-8")
    with pytest.raises(RobustnessError, match=r"notes\.html"):
        result.report(tmp_path / "notes.html")


def test_a_notebook_shows_the_verdict_with_a_picture_and_escapes_every_text(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        result = Result.of(fill(store, renamed_arms(made_study(name=HOSTILE[0]), *HOSTILE)))
    shown = result._repr_html_()
    assert "<svg" in shown
    assert "12 paired configurations" in shown
    assert "<script" not in shown
    assert "<img" not in shown


def test_a_relative_store_is_found_after_a_change_of_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///made.db") as store:
        fill(store, made_study())
    result = Result("sqlite:///made.db", "made")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(result.trials) == 24


def test_a_result_hides_the_password_of_its_store() -> None:
    assert "secret" not in repr(Result("postgresql://me:secret@host/results", "made"))


def test_an_unknown_study_is_named(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        fill(store, made_study())
    with pytest.raises(StoreError, match="did you mean 'made'"):
        _ = Result(f"sqlite:///{tmp_path / 'made.db'}", "mad").verdict
