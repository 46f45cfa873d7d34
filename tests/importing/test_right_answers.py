"""Files that were once imported with a wrong answer: each now has the true one, or one line that asks."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.importing import imported, rows_of
from support.stores import fill, made_study

from report.exports import results_csv
from report.sections.cautions import cautions
from robustness import Result, from_dataframe
from robustness.cli import main
from robustness.errors import RobustnessError
from robustness.importing.pairing import Pairs
from robustness.store import open_store

ARMS = ("a", "b", "c")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROBUSTNESS_STORE", f"sqlite:///{tmp_path / 'runs.db'}")
    return tmp_path


def test_our_own_table_comes_back_with_all_pairs() -> None:
    with open_store("sqlite:///made.db") as store:
        study = fill(store, made_study())
        text = results_csv(store.study(study.name))
        before = store.study(study.name).configurations()
    Path("first.csv").write_text(text, encoding="utf-8")
    thresholds = ["--good", "0.8", "--learned-nothing", "0.6", "--metric", "validation_auc"]
    assert main(["import", "first.csv", "--study", "again", *thresholds]) == 0
    with open_store(None, create=False) as store:
        again = results_csv(store.study("again"))
        assert store.study("again").configurations() == before
    first, second = (pd.read_csv(io.StringIO(each)) for each in (text, again))
    same = [name for name in first.columns if name not in ("epochs", "outcome_best", "outcome_last")]
    pd.testing.assert_frame_equal(first[same], second[same])


def test_our_own_json_comes_back_with_its_metric() -> None:
    with open_store("sqlite:///made.db") as store:
        text = results_csv(store.study(fill(store, made_study()).name))
        name = store.names()[0]
    assert main(["report", name, "--store", "sqlite:///made.db", "--format", "json", "--out", "first.json"]) == 0
    assert main(["import", "first.json", "--study", "again", "--good", "0.8", "--learned-nothing", "0.6"]) == 0
    with open_store(None, create=False) as store:
        again = results_csv(store.study("again"))
        assert store.study("again").document()["outcomes"]["metric"] == "validation_auc"
    first, second = (pd.read_csv(io.StringIO(each)) for each in (text, again))
    same = [column for column in first.columns if column not in ("epochs", "outcome_best", "outcome_last")]
    pd.testing.assert_frame_equal(first[same], second[same])


def made_frame(runs: int = 20, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rates = 10 ** rng.uniform(-4, 0, runs)
    rows = [(arm, rate, rng.random()) for rate in rates for arm in ARMS]
    return pd.DataFrame(rows, columns=["arm", "rate", "metric"])


@pytest.mark.parametrize("extra", [["loss"], ["best_epoch"], ["loss", "best_epoch"], ["loss", "f1", "best_epoch"]])
def test_a_second_measure_is_not_taken_for_a_hyperparameter(extra: list[str]) -> None:
    rng, frame = np.random.default_rng(1), made_frame()
    for name in extra:
        frame[name] = rng.integers(1, 10, len(frame)) if name == "best_epoch" else rng.random(len(frame))
    frame.to_csv("runs.csv", index=False)
    with pytest.raises(RobustnessError, match=r"hyperparameter or a measure[?] .* as a measure, 20: say") as question:
        imported("runs.csv")
    assert "say --hyperparameters rate if it is a measure" in str(question.value)
    assert Pairs.of(imported("runs.csv", hyperparameters=["rate"]).runs) == Pairs(20, 0, 0)


def test_a_measure_of_repeated_runs_is_recognised_as_well() -> None:
    frame = pd.concat([made_frame(seed=0), made_frame(seed=0)], ignore_index=True)
    frame["loss"] = np.random.default_rng(2).random(len(frame))
    frame.to_csv("runs.csv", index=False)
    with pytest.raises(RobustnessError, match="is 'loss' a hyperparameter"):
        imported("runs.csv")


def test_empty_metrics_are_asked_about_and_counted_as_the_failures_that_they_are() -> None:
    frame = made_frame(40)
    diverged = (frame["rate"] > 0.05) & (frame["arm"] != "a")
    frame.loc[diverged, "metric"] = np.nan
    frame.to_csv("runs.csv", index=False)
    words = ["import", "runs.csv", "--study", "s", "--good", "0.9", "--learned-nothing", "0.3"]
    assert main(words) == 2
    assert main([*words, "--missing", "diverged"]) == 0
    with open_store(None, create=False) as store:
        trials = store.study("s").trials()
    nothing = (trials["status"] == "diverged") | (trials["metric"] < 0.3)
    for arm in ARMS:
        of_arm = frame["arm"] == arm
        truth = (diverged | (frame["metric"] < 0.3))[of_arm].mean()
        assert nothing[trials["arm"] == arm].mean() == pytest.approx(truth)


def test_numbers_that_are_written_differently_are_one_value() -> None:
    text = "arm,rate,width,metric\na,0.1,10,0.5\nb,0.10000000000000001,10.0,0.6\na,1e-3,2,0.7\nb,0.00100000001,2,0.8\n"
    Path("runs.csv").write_text(text, encoding="utf-8")
    runs = imported("runs.csv").runs
    assert len(runs.configurations) == 2
    assert Pairs.of(runs) == Pairs(2, 0, 0)
    assert len(imported("runs.csv", digits=9, hyperparameters=["rate", "width"]).runs.configurations) == 3


def test_runs_without_pairs_are_imported_as_such_and_no_hint_pairs_them(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"arm": np.repeat(["a", "b"], 15), "rate": rng.random(30), "metric": rng.random(30)})
    frame.to_csv("runs.csv", index=False)
    assert main(["import", "runs.csv", "--study", "s", "--good", "0.9", "--learned-nothing", "0.3", "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "no configuration occurs in two arms, so arms are compared unpaired" in text
    assert "--hyperparameters" not in text
    assert not Path("runs.db").exists()


def test_a_few_shared_configurations_are_said_to_be_few(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    rates = np.concatenate([np.arange(1, 16), np.arange(13, 28)]) + 0.5
    frame = pd.DataFrame({"arm": np.repeat(["a", "b"], 15), "rate": rates**1.5, "metric": rng.random(30)})
    frame.to_csv("runs.csv", index=False)
    assert main(["import", "runs.csv", "--study", "s", "--dry-run"]) == 0
    assert (
        "3 of 27 configurations occur in all arms, 24 in one alone, which only count unpaired"
        in capsys.readouterr().out
    )


def test_bookkeeping_of_trackers_is_ignored_and_an_unknown_status_ends_nothing() -> None:
    frame = made_frame()
    frame["pid"], frame["date"] = range(len(frame)), [f"2026-01-01_{n}" for n in range(len(frame))]
    frame["tags.mlflow.user"], frame["_runtime"], frame["hostname"] = "me", 1.5, "here"
    frame["status"] = ["succeeded" if n % 7 else "FINISHED" for n in range(len(frame))]
    frame.to_csv("runs.csv", index=False)
    found = imported("runs.csv")
    assert list(found.runs.levels) == ["rate"]
    assert Pairs.of(found.runs) == Pairs(20, 0, 0)
    assert set(found.understood.ignored.values()) == {"bookkeeping"}
    assert any("unknown status 'succeeded'" in remark for remark in found.runs.remarks)


@pytest.mark.parametrize("prefix", ["params_", "params.", "config/", "config."])
def test_prefixes_decide(prefix: str) -> None:
    frame = made_frame().rename(columns={"rate": f"{prefix}rate", "metric": "metrics.accuracy"})
    frame["metrics.loss"] = range(len(frame))
    frame["another"] = range(len(frame))
    frame.to_csv("runs.csv", index=False)
    with pytest.raises(RobustnessError, match="which measure is the metric"):
        imported("runs.csv")
    found = imported("runs.csv", metric="accuracy")
    assert (list(found.runs.levels), found.runs.metric) == (["rate"], "accuracy")
    assert Pairs.of(found.runs) == Pairs(20, 0, 0)


def test_absent_cells_of_a_grid_are_found_and_asked_about() -> None:
    rows = [(arm, x, y, 0.5) for arm in "ab" for x in (1, 2, 3) for y in (0.1, 0.2, 0.3, 0.4)]
    frame = pd.DataFrame(rows, columns=["arm", "x", "y", "metric"]).drop(index=[1, 5, 20])
    frame.to_csv("runs.csv", index=False)
    with pytest.raises(RobustnessError, match=r"3 of 24 cells of the grid have no run; a 2, b 1: .*absent-is-diverged"):
        imported("runs.csv")
    runs = imported("runs.csv", missing="absent-is-diverged").runs
    cells = {(row.arm, *row.hyperparameters.values()) for row in rows_of(runs) if row.status == "diverged"}
    assert cells == {("a", 1, 0.2), ("a", 2, 0.2), ("b", 3, 0.1)}
    assert len(imported("runs.csv", missing="left-out").runs.frame) == 21


def test_runs_of_unequal_budgets_are_not_compared_in_silence() -> None:
    rows = [(arm, rate, epoch, 0.1 * epoch) for arm in "ab" for rate in (1, 2) for epoch in range(1, 6)]
    frame = pd.DataFrame(rows, columns=["arm", "rate", "epoch", "metric"])
    frame = frame[(frame["arm"] == "a") | (frame["rate"] == 1) | (frame["epoch"] <= 2)]
    frame.to_csv("runs.csv", index=False)
    with pytest.raises(RobustnessError, match=r"1 of 4 runs stopped early \(1 ended before epoch 5; b 1\)"):
        imported("runs.csv")
    assert imported("runs.csv", pruned="left-out").runs.frame["status"].tolist().count("pruned") == 1
    assert set(imported("runs.csv", pruned="last-value").runs.frame["status"]) == {"finished"}


def test_a_loss_without_a_direction_is_asked_about() -> None:
    made_frame().rename(columns={"metric": "val_loss"}).to_csv("runs.csv", index=False)
    with pytest.raises(RobustnessError, match="--goal minimize or --goal maximize"):
        imported("runs.csv", metric="val_loss")
    assert imported("runs.csv", metric="val_loss", goal="minimize").runs.goal == "minimize"


def test_a_corrected_file_is_noticed_and_replaces_only_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    frame = made_frame()
    frame.to_csv("runs.csv", index=False)
    words = ["import", "runs.csv", "--study", "s"]
    assert main(words) == main(words) == 0
    frame.loc[0, "metric"] = 0.123
    frame.to_csv("runs.csv", index=False)
    assert main(words) == 2
    assert "was imported before, from 'runs.csv', with other runs or other options" in capsys.readouterr().err
    assert main([*words, "--replace"]) == 0
    with open_store(None, create=False) as store:
        assert 0.123 in store.study("s").trials()["metric"].tolist()
        assert store.names() == ["s"]


def test_a_data_frame_is_imported_as_a_file_is_and_messages_name_its_arguments() -> None:
    frame = made_frame()
    frame.loc[3, "metric"] = np.nan
    with pytest.raises(RobustnessError, match="missing='diverged'"):
        from_dataframe(frame, study="s")
    result = from_dataframe(frame, study="s", missing="diverged", good=0.9, learned_nothing=0.3)
    assert len(result.trials) == 60
    assert result.trials["status"].tolist().count("diverged") == 1
    with pytest.raises(RobustnessError, match="must be a pandas DataFrame"):
        from_dataframe([1, 2], study="s")  # type: ignore[arg-type]


def test_a_store_comes_back_whole() -> None:
    with open_store("sqlite:///made.db") as store:
        made = store.study(fill(store, made_study()).name)
        made.save_note("mine", {"a": [1, 2]})
        name, document, trials, epochs = made.name, made.document(), made.trials(), made.epochs()
        curves = made.curves()
    assert main(["import", "made.db", "--study", name]) == 0
    with open_store(None, create=False) as store:
        again = store.study(name)
        assert again.document() == document
        assert again.note("mine") == {"a": [1, 2]}
        pd.testing.assert_frame_equal(again.trials(), trials)
        pd.testing.assert_frame_equal(again.epochs(), epochs)
        pd.testing.assert_frame_equal(again.curves(), curves)
    assert main(["import", "made.db", "--study", name]) == 2
    assert main(["import", "made.db", "--study", name, "--replace"]) == 0


def test_runs_that_were_proposed_adaptively_are_marked_as_such() -> None:
    options = {"good": 0.9, "learned_nothing": 0.3}
    drawn = from_dataframe(made_frame(), study="drawn", **options)  # type: ignore[arg-type]
    proposed = from_dataframe(made_frame(), study="proposed", proposed="adaptively", **options)  # type: ignore[arg-type]
    for result, marked in ((drawn, False), (proposed, True)):
        # Without the script, which has the words of every kind of study.
        page = result.report(f"{result.study}.html").read_text(encoding="utf-8").partition("<script")[0]
        assert ("not drawn from the space: fractions describe these searches" in page) == marked
        # Nothing is said of versions or workers of the import, nor of a sweep that never was.
        assert "robustness sweep" not in page
        assert "Git commit" not in page
        assert "Main versions" not in page
        assert "The course of the sweep" not in page
        assert "Learning curves" not in page


def test_what_is_assumed_about_proposals_is_said_stored_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    made_frame().to_csv("runs.csv", index=False)
    words = ["import", "runs.csv", "--good", "0.9", "--learned-nothing", "0.3", "--study"]
    question = "assumed: proposed independently (the table does not record it); if the configurations were proposed"
    page_says = "How the configurations were chosen is not recorded; the page assumes independent draws."
    for study, more, is_assumed in (("open", [], True), ("said", ["--proposed", "independently"], False)):
        assert main([*words, study, *more]) == 0
        assert (question in capsys.readouterr().out) == is_assumed
        with open_store(None, create=False) as store:
            about = store.study(study).document()["imported"]
        assert (about["adaptive"], about["adaptive_is_assumed"]) == (False, is_assumed)
        page = Result(None, study).report(f"{study}.html").read_text(encoding="utf-8").partition("<script")[0]
        assert (page_says in page) == is_assumed


def test_runs_with_a_seed_of_their_own_are_no_replicates_and_shared_seeds_are() -> None:
    frame = made_frame()
    frame["seed"] = np.repeat(range(20), len(ARMS))
    runs = imported(frame_file(frame)).runs
    assert set(runs.frame["replicate"]) == {0}
    assert Pairs.of(runs) == Pairs(20, 0, 0)
    # Two seeds of each configuration, which no other configuration has.
    twice = pd.concat([frame, frame.assign(seed=frame["seed"] + 100)])
    assert imported(frame_file(twice)).runs.frame["replicate"].tolist() == [0] * 60 + [1] * 60
    shared = pd.concat([frame.assign(seed=seed) for seed in (3, 5, 8)])
    runs = imported(frame_file(shared)).runs
    assert runs.frame["replicate"].tolist() == [0] * 60 + [1] * 60 + [2] * 60
    # A seed that one configuration lacks keeps its number in the others.
    fewer = imported(frame_file(shared[3:]), missing="left-out").runs
    assert fewer.frame["replicate"].tolist() == [0] * 57 + [1] * 60 + [2] * 60


def frame_file(frame: pd.DataFrame) -> str:
    frame.to_csv("runs.csv", index=False)
    return "runs.csv"


def test_trials_that_failed_are_not_said_to_have_diverged() -> None:
    frame = made_frame()
    failed = frame.index.isin([0, 4])
    frame["status"] = np.where(failed, "crashed", "finished")
    frame["metric"] = frame["metric"].where(~failed)
    result = from_dataframe(frame, study="s", missing="diverged")
    said = [caution for caution in cautions(result.analysis) if "failed" in caution]
    assert len(said) == 1
    assert "1 of a's 20 trials and 1 of b's 20 trials have no metric: they failed and were counted as" in said[0]


def test_a_full_grid_needs_no_assumption() -> None:
    rows = [(arm, x, y, 0.5 + x) for arm in "ab" for x in (1, 2, 3) for y in (0.1, 0.2, 0.3, 0.4)]
    frame = pd.DataFrame(rows, columns=["arm", "x", "y", "metric"])
    frame.to_csv("runs.csv", index=False)
    runs = imported("runs.csv").runs
    assert (runs.adaptive, runs.assumed) == (False, False)
    pd.concat([frame, frame[:3]]).to_csv("runs.csv", index=False)
    assert imported("runs.csv", missing="left-out").runs.assumed


def test_runs_of_one_epoch_have_no_second_row_for_their_last_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    made_frame().to_csv("runs.csv", index=False)
    assert main(["import", "runs.csv", "--study", "s", "--good", "0.9", "--learned-nothing", "0.3"]) == 0
    assert "judged at" not in capsys.readouterr().out
    results = Result(None, "s").results
    for part in (results["paired"], results["scores"]):
        assert {entry["epoch"] for entry in part} == {"best"}
    assert len(results["paired"]) == 2 * len(results["scores"]) == 6


def test_names_of_files_are_columns() -> None:
    for task in ("cart_pole", "ant"):
        for arm in ("dqn", "ppo"):
            frame = made_frame(5).query("arm == 'a'").drop(columns="arm")
            frame.to_csv(f"{task}_{arm}.csv", index=False)
    tables = [str(path) for path in sorted(Path().glob("*.csv"))]
    assert main(["import", *tables, "--study", "s", "--names", "{task}_{arm}.csv"]) == 0
    with open_store(None, create=False) as store:
        trials = store.study("s").trials()
    assert set(zip(trials["task"], trials["arm"], strict=True)) == {
        (task, arm) for task in ("cart_pole", "ant") for arm in ("dqn", "ppo")
    }
    assert main(["import", *tables, "--study", "t", "--names", "{task}-{arm}.csv"]) == 2
