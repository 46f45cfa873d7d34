from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.results import present
from support.stores import Made, fill, made_study, paper_like

from report.analysis import analyse
from report.page import render
from report.sections.sensitivity.levels import levels
from report.sections.sensitivity.rates import NEAR
from report.words import typeset
from robustness.store import Store, open_store
from robustness.trial import Trial


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def decided_by_rho(trial: Trial, epochs: int) -> Made:
    score = 0.55 if trial.hyperparameters["initial_rho"] == 0 else 0.85 + trial.configuration / 1000
    return Made(scores=[score] * epochs)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[pd.DataFrame, dict[str, Any]]:
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('made') / 'made.db'}") as opened:
        analysis = analyse(fill(opened, made_study(configurations=60, epochs=3), decided_by_rho))
    return analysis.frames.configurations, dict(analysis.results["sensitivity"])


def test_the_rate_of_each_value_is_counted(found: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    drawn, result = found
    rho = result["hyperparameters"]["initial_rho"]
    assert rho["values"] == [-6, -4, -2, 0]
    for value, entry in zip(rho["values"], rho["arms"]["radial"]["learned_nothing"], strict=True):
        assert entry["of"] == int((drawn["initial_rho"] == value).sum())
        assert entry["fraction"] == (1.0 if value == 0 else 0.0)
        assert entry["low"] <= entry["fraction"] <= entry["high"]
    decay = result["hyperparameters"]["learning_rate_decay"]
    # Amsgrad has no decay: those configurations belong to none of its values.
    assert sum(entry["of"] for entry in decay["arms"]["mfvi"]["good"]) == int((drawn["optimizer"] == "sgd").sum())


def test_two_way_tables_count_every_cell(found: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    drawn, result = found
    table = next(e for e in result["two_way"] if e["hyperparameters"] == ["batch_size", "initial_rho"])
    expected = pd.crosstab(drawn["batch_size"], drawn["initial_rho"])
    assert np.array_equal(table["arms"]["mfvi"]["of"], expected.to_numpy())
    nothing = np.array(table["arms"]["mfvi"]["learned_nothing"])
    assert np.array_equal(nothing[:, 3], expected[0].to_numpy())
    assert nothing[:, :3].sum() == 0


def test_only_values_with_evidence_are_named_and_left_out(found: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    drawn, result = found
    deciding = result["deciding_values"]["mfvi"]
    values = {(entry["hyperparameter"], entry["value"]): entry for entry in deciding["values"]}
    assert {name for name, _ in values} == {"initial_rho"}
    worst = values["initial_rho", 0]
    assert (worst["fraction"], worst["elsewhere"], worst["worse"]) == (1.0, 0.0, True)
    assert all(entry["worse"] is (key == ("initial_rho", 0)) for key, entry in values.items())
    sensible = result["sensible_range"]["mfvi"]
    assert sensible["removed"] == {"initial_rho": [0]}
    assert sensible["configurations"] == int((drawn["initial_rho"] != 0).sum())
    assert sensible["learned_nothing"]["fraction"] == 0.0


def test_no_value_is_named_for_a_single_failure_or_for_what_an_arm_does_not_use(store: Store) -> None:
    def made(trial: Trial, epochs: int) -> Made:
        fails = trial.configuration == 3 or (trial.arm == "mfvi" and trial.hyperparameters["initial_rho"] == 0)
        return Made(scores=[0.5 if fails else 0.9] * epochs)

    analysis = analyse(fill(store, made_study(arms=("mfvi", "deterministic"), configurations=60), made))
    result = analysis.results["sensitivity"]
    unused = {"initial_rho", "variational_samples"}
    assert result["deciding_values"]["deterministic"]["values"] == []
    assert result["sensible_range"]["deterministic"] is None
    assert result["deciding_values"]["mfvi"]["tested"] > result["deciding_values"]["deterministic"]["tested"] > 0
    assert not unused & set(present(result["winners"]["deterministic"])["hyperparameters"])
    assert unused <= set(present(result["winners"]["mfvi"])["hyperparameters"])
    page = render(analysis)
    assert "No value is shown to matter for deterministic (1 of 60 learned nothing)." in page
    assert "Values with which significantly more or fewer configurations learned nothing" in page
    assert "Without initial_rho = 0, mfvi learned nothing in" in page


def test_the_winner_comes_with_how_many_are_near_it(found: tuple[pd.DataFrame, dict[str, Any]]) -> None:
    drawn, result = found
    winner = result["winners"]["radial"]
    scores = {n: 0.85 + n / 1000 for n in drawn.index if drawn.loc[n, "initial_rho"] != 0}
    best = max(scores, key=lambda n: scores[n])
    assert winner["configuration"] == best
    assert winner["hyperparameters"]["batch_size"] == drawn.loc[best, "batch_size"]
    assert winner["near"]["count"] == sum(score >= scores[best] - NEAR for score in scores.values())
    assert winner["reference"] is None


def test_importance_finds_what_decides_and_nothing_else(store: Store) -> None:
    study = made_study(configurations=80, epochs=2)

    def by_rho(trial: Trial, epochs: int) -> Made:
        rng = np.random.default_rng([trial.configuration, trial.arm == "radial"])
        decides = trial.arm == "mfvi" and trial.hyperparameters["initial_rho"] == -6
        return Made(scores=[(0.9 if decides else 0.7) + rng.normal(0, 0.01)] * epochs)

    analysis = analyse(fill(store, study, by_rho))
    importance = analysis.results["sensitivity"]["importance"]
    assert importance["mfvi"]["why_not"] is None
    assert next(iter(importance["mfvi"]["hyperparameters"])) == "initial_rho"
    beyond = {
        arm: [name for name, own in entry["hyperparameters"].items() if not own["within_null"]]
        for arm, entry in importance.items()
    }
    assert beyond == {"mfvi": ["initial_rho"], "radial": []}
    assert sum(importance["radial"]["shares"].values()) == pytest.approx(1)
    share = importance["mfvi"]["hyperparameters"]["initial_rho"]["explained"]
    page = render(analysis)
    assert typeset(f"mfvi: initial_rho {100 * share:.0f} %; radial: none.") in page
    assert "not distinguishable from no effect (p = 1)" in page


def test_the_references_winner_is_looked_for_among_the_configurations(store: Store) -> None:
    winner = analyse(paper_like(store, configurations=20, epochs=4)).results["sensitivity"]["winners"]["mfvi"]
    reference = present(present(winner)["reference"])
    assert reference["hyperparameters"]["optimizer"] == "sgd"
    assert set(reference) == {"hyperparameters", "configuration", "score", "rank"}


def test_a_range_of_many_numbers_is_cut_into_quarters() -> None:
    values = pd.Series(np.linspace(0.0, 1.0, 41))
    found = levels(values)
    assert found.labels == ["0 to 0.225", "0.25 to 0.475", "0.5 to 0.725", "0.75 to 1"]
    assert found.of.tolist() == [min(int(value * 4), 3) for value in values]


def test_values_that_a_configuration_does_not_use_are_no_level() -> None:
    found = levels(pd.Series([1.0, np.nan, 0.98, 1.0]))
    assert found.labels == [0.98, 1.0]
    assert found.of.isna().tolist() == [False, True, False, False]
