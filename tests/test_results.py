"""The kept results of deepdrid_robustness agree with each other and the study, and a trial run again gives them."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from support.files import data_set
from support.results import present

from report.comparison import second_minus_first
from report.words import mean_change, p_words, points, share
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "results" / "deepdrid_robustness"
NAME = "deepdrid_robustness"
QUICK = (14, "radial")
"""A trial of seconds, whose learning rate is so low that another rounding hardly matters."""


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "trials.csv")


@pytest.fixture(scope="module")
def page() -> str:
    return (FOLDER / "README.md").read_text(encoding="utf-8")


def test_they_are_of_the_bundled_study(trials: pd.DataFrame, results: dict[str, Any]) -> None:
    study = load_study(NAME, check_data=False)
    plan = make_plan(study)
    assert results["complete"]
    assert results["sampling"]["pairs"] >= 80
    assert list(results["arms"]) == [arm.label for arm in study.arms]
    assert (results["metric"], results["epoch"], results["primary"]) == ("validation_auc", "last", "learned_nothing")
    assert results["thresholds"]["good"]["at_least"] == present(study.outcomes.good).at_least
    assert len(trials) == len(plan.configurations) * len(study.arms)
    assert trials["last_epoch"].max() == study.training["epochs"]
    for row in trials.to_dict("records"):
        for name, value in plan.configurations[row["configuration"]].items():
            assert row[name] == value


def test_the_fractions_are_those_of_the_trials(trials: pd.DataFrame, results: dict[str, Any]) -> None:
    for arm, found in results["arms"].items():
        own = trials[trials["arm"] == arm]
        for epoch in ("best", "last"):
            limit = results["thresholds"]["learned_nothing"][epoch]["value"]
            diverged = (own["status"] == "diverged") & (epoch == "last")
            nothing = ~(own[epoch] > limit) | diverged  # also where a trial diverged before it had a score
            good = (own[epoch] >= results["thresholds"]["good"]["at_least"]) & ~diverged
            assert found["at"][epoch]["learned_nothing"]["count"] == nothing.sum()
            assert found["at"][epoch]["good"]["count"] == good.sum()


def test_the_tests_are_those_of_the_trials(trials: pd.DataFrame, results: dict[str, Any]) -> None:
    for entry in results["paired"]:
        outcomes = trials.pivot_table(f"outcome_{entry['epoch']}", "configuration", "arm", aggfunc="first")
        first, second = (outcomes[arm] == entry["outcome"] for arm in entry["arms"])
        only = int((first & ~second).sum()), int((second & ~first).sum())
        assert (entry["only_first"], entry["only_second"]) == only
        assert entry["difference"] == pytest.approx((only[0] - only[1]) / entry["pairs"])
        both, neither = int((first & second).sum()), int((~first & ~second).sum())
        table = [[both, only[0]], [only[1], neither]]
        score = mcnemar(table, exact=False, correction=False).pvalue if sum(only) else 1.0
        assert entry["p_value"] == pytest.approx(score)
        assert entry["p_exact"] == pytest.approx(binomtest(only[0], sum(only)).pvalue if sum(only) else 1.0)
        assert (entry["low"] > 0 or entry["high"] < 0) is (entry["p_value"] < 0.05)
        assert entry["low"] <= entry["difference"] <= entry["high"]


def test_the_intervals_are_those_of_the_counts(results: dict[str, Any]) -> None:
    for found in results["arms"].values():
        for epoch in ("best", "last"):
            for entry in found["at"][epoch].values():
                wilson = binomtest(entry["count"], entry["of"]).proportion_ci(method="wilson")
                assert (entry["low"], entry["high"]) == pytest.approx((wilson.low, wilson.high))


def test_the_page_says_what_the_results_say(page: str, results: dict[str, Any]) -> None:
    for arm, found in results["arms"].items():
        for epoch in ("last", "best"):
            cells = (share(found["at"][epoch][outcome], "") for outcome in ("learned_nothing", "good"))
            assert f"| `{arm}` | {' | '.join(cells)} |" in page
    tested = {(*entry["arms"], entry["outcome"]): entry for entry in results["paired"] if entry["epoch"] == "last"}
    rows = re.findall(r"^\| `(\w+)`, `(\w+)` \| (learned nothing|good) \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) == 10
    for one, other, outcome, told in rows:
        entry = tested[one, other, outcome.replace(" ", "_")]
        counts = (str(entry[key]) for key in ("only_first", "only_second"))
        values = (p_words(entry[key]) for key in ("p_value", "p_adjusted"))
        assert told == " | ".join((*counts, points(second_minus_first(entry, entry["difference"])), *values))
    by_rho = results["sensitivity"]["hyperparameters"]["initial_rho"]
    for place, rho in enumerate(by_rho["values"]):
        found = [by_rho["arms"][arm]["learned_nothing"][place] for arm in results["arms"]]
        first, *others = (f"{entry['count']:.0f}" for entry in found)
        assert f"| {rho} | {first} of {found[0]['of']} | {' | '.join(others)} |" in page
    for step in results["controls"]["steps"]:
        assert f"| {step['step']} | {points(step['primary'])} |" in page
        assert mean_change(step["score"]) in page


def test_the_page_shows_figures_of_its_own(page: str) -> None:
    figures = {path.name for path in (FOLDER / "figures").glob("*.svg")}
    assert {"outcomes-last.svg", "outcomes-best.svg", "controls-outcome.svg", "profiles.svg"} <= figures
    assert "figures/outcomes-last.svg" in page


def test_a_trial_run_alone_gives_its_score_again(tmp_path: Path, trials: pd.DataFrame) -> None:
    configuration, arm = QUICK
    kept = trials[(trials["configuration"] == configuration) & (trials["arm"] == arm)].iloc[0]
    data = data_set("deepdrid")
    files = ["--images", f"{data}/deepdrid_128.zip", "--labels", f"{data}/labels_full.csv", "--size", "32"]
    for arguments in (
        ["prepare", "retinopathy", *files, "--out", "data/deepdrid_32"],
        ["sweep", NAME, "--only", f"{configuration}/{arm}", "--inline", "--no-report"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "robustness", *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT), "ROBUSTNESS_STORE": "sqlite:///robustness.db"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    with open_store(f"sqlite:///{tmp_path / 'robustness.db'}") as store:
        epochs = store.study(NAME).epochs()
    assert len(epochs) == kept["last_epoch"]
    # Other processors round otherwise.
    assert math.isclose(epochs["validation_auc"].iloc[-1], kept["last"], abs_tol=0.01)
