"""The search in the report: runs, winners, the space, and searches that are unfinished or of an own trainable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.branin import branin_study, score
from support.results import present
from support.searches import fill_search, made_search, rising

from report.analysis import analyse
from report.page import draw_parts, render
from report.sections.configurations import configuration_table
from robustness.execution.inline import InlineExecutor
from robustness.optimize.final_models import train_finals, winners
from robustness.optimize.search import NOTHING, search
from robustness.store import Store, open_store
from robustness.trial import Status

ENDINGS: tuple[Status, ...] = ("failed", "out_of_memory", "diverged", "finished", "running", "planned")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def test_runs_have_the_best_epochs_score_and_the_best_so_far(store: Store) -> None:
    found = analyse(fill_search(store, made_search())).results["search"]
    runs = found["arms"]["mfvi"]["runs"]
    assert [run["number"] for run in runs] == [1, 2, 3, 4]
    assert [run["score"] for run in runs] == pytest.approx([0.65, 0.7, 0.75, 0.7])
    assert [run["best_so_far"] for run in runs] == pytest.approx([0.65, 0.7, 0.75, 0.75])
    assert found["arms"]["mfvi"]["space"] == {
        "learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
        "batch_size": {"choices": [16, 32]},
        "initial_rho": {"low": -8, "high": -1, "log": False},
    }
    assert found["complete"] is True


@pytest.mark.parametrize("objective", ["auc", "accuracy"])
def test_the_winner_is_the_one_whose_configuration_is_trained_anew(store: Store, objective: str) -> None:
    study = made_search(search={"runs": 4, "objective": objective})

    def scores(arm: str, number: int) -> tuple[Status, list[float]]:
        # The highest score is that of a run that diverged, and two others are equal.
        values = {0: 0.7, 1: 0.8, 2: 0.8, 3: 0.9} if objective == "auc" else {0: 0.3, 1: 0.2, 2: 0.2, 3: 0.1}
        return "diverged" if number == 3 else "finished", [values[number]]

    registered = fill_search(store, study, scores)
    found = analyse(registered).results["search"]
    assert found["objective"] == f"validation_{objective}"
    for arm, run in winners(study, registered).items():
        won = present(found["arms"][arm]["winner"])
        assert run.number + 1 == won["number"] == 2
        assert dict(run.hyperparameters) == won["hyperparameters"]
    assert any("1 diverged" in sentence for sentence in found["cautions"])


def test_an_unfinished_search_with_every_ending_gives_a_page(store: Store) -> None:
    study = made_search(search={"runs": 6})

    def scores(arm: str, number: int) -> tuple[Status, list[float]]:
        status = ENDINGS[number]
        return status, [] if status in ("failed", "planned") else [0.6, 0.7]

    analysis = analyse(fill_search(store, study, scores, runs={"mfvi": 6, "radial": 2}))
    assert "finals" not in analysis.results
    assert analysis.results["complete"] is False
    page = render(analysis)
    assert "The search is incomplete; runs that have ended: mfvi 4 of 6, radial 2 of 6." in page
    assert "mfvi: 1 diverged, 1 failed, 1 out of memory" in page
    assert "no &lt;b&gt;memory&lt;/b&gt;" in page
    assert 'id="history"' in page
    assert 'id="finals"' not in page


def test_a_search_of_which_nothing_has_run_gives_a_page(store: Store) -> None:
    analysis = analyse(fill_search(store, made_search(), runs={}))
    assert analysis.results["verdict"] == ["No run of the search has finished yet."]
    page = render(analysis)
    for name in ("history", "slices", "winning", "finals", "thumbnails"):
        assert f'id="{name}"' not in page


def test_an_own_trainable_shows_history_and_slices_alone(store: Store) -> None:
    study = branin_study(search={"runs": 5}, finals={"replicates": 2})
    registered = store.register(study, NOTHING)
    runs = search(study, registered, InlineExecutor())["only"]
    train_finals(study, registered, InlineExecutor())
    analysis = analyse(registered)
    found = analysis.results["search"]["arms"]["only"]
    assert [run["score"] for run in found["runs"]] == [score(run.hyperparameters) for run in runs]
    rate = found["space"]["learning_rate"]
    assert "log" in rate
    assert rate["log"] is True
    names = [section["name"] for part in draw_parts(analysis) for section in part["sections"]]
    assert [name for name in names if name in {"winning", "history", "slices"}] == ["winning", "history", "slices"]
    assert not {"finals", "referral", "calibration", "thumbnails", "outcomes"} & set(names)
    page = render(analysis)
    assert "robustness optimize branin" in page


def test_the_table_has_a_row_for_each_run_and_model(store: Store) -> None:
    analysis = analyse(fill_search(store, made_search()))
    table = configuration_table(analysis)
    assert table.columns[:4] == ("arm", "stage", "run", "model")
    assert not any("outcome" in column for column in table.columns)
    rows = [row[:4] for row in table.rows]
    assert rows[:6] == [("mfvi", "search", str(run), "–") for run in (1, 2, 3, 4)] + [
        ("mfvi", "final", "3", "1"),
        ("mfvi", "final", "3", "2"),
    ]
    tested = [row[table.columns.index("test AUC")] for row in table.rows]
    aucs = analysis.results["finals"]["arms"]["mfvi"]["replicates"]
    assert tested[:6] == ["–"] * 4 + [f"{model['auc'][0]:.4f}" for model in aucs]


def test_spaces_with_branches_and_arms_with_spaces_of_their_own_are_sliced(store: Store) -> None:
    branches = {
        "optimizer": {
            "sgd": {"learning_rate": {"low": 1e-3, "high": 1e-1, "scale": "log"}},
            "adam": {"learning_rate": {"low": 1e-4, "high": 1e-2, "scale": "log"}},
        },
        "initial_rho": {"low": -8, "high": -1},
    }
    point = {"optimizer": "adam", "learning_rate": 1e-3, "initial_rho": -4, "variational_samples": [1, 2, 4]}
    study = made_search(space=branches, search={"runs": 3, "spaces": {"radial": point}})
    analysis = analyse(fill_search(store, study, rising))
    arms = analysis.results["search"]["arms"]
    assert arms["mfvi"]["space"] == {
        "optimizer": {"choices": ["adam", "sgd"]},
        "learning_rate": {"low": 1e-4, "high": 1e-1, "log": True},
        "initial_rho": {"low": -8, "high": -1, "log": False},
    }
    assert arms["radial"]["space"] == {"variational_samples": {"choices": [1, 2, 4]}}
    sections = {section["name"]: section for part in draw_parts(analysis) for section in part["sections"]}
    titles = [picture["title"] for picture in sections["slices"]["pictures"]]
    assert titles == ["By optimizer", "By learning_rate", "By initial_rho", "By variational_samples"]


def test_a_search_for_accuracy_or_with_other_samplers_says_so(store: Store) -> None:
    study = made_search(search={"runs": 2, "sampler": "random", "objective": "accuracy"})
    page = render(analyse(fill_search(store, study)))
    assert "All configurations were drawn by chance." in page
    assert "The highest validation accuracy that each arm" in page
