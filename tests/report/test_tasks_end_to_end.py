"""Two tasks, three arms and three seeds, from the file to the page; arms that share nothing; partners that fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep
from support.studies import run_study, store_url, write_study

from report.analysis import analyse
from report.exports import results_table
from report.frames import load_frames
from report.page import write_report
from robustness.cli import main
from robustness.statistics.tasks import Pairs, heterogeneity, stratified_mean, stratified_test
from robustness.store import open_store

TASKS = [{"name": "cifar"}, {"name": "mnist", "classes": 10}]
OWN = [
    {"name": "adam", "space": {"rate": {"low": 0.001, "high": 0.1, "scale": "log"}}},
    {"name": "sgd", "space": {"rate": {"low": 0.01, "high": 1.0, "scale": "log"}, "momentum": [0.0, 0.9]}},
]


def analysed(folder: Path, trainable: str = "streamed", page: bool = False, **changes: Any) -> tuple[Any, pd.DataFrame]:
    """The results of a study, and its table of trials."""
    name = run_study(folder, trainable, **changes)
    with open_store(store_url(folder)) as store:
        frames = load_frames(store.study(name))
    analysis = analyse(frames)
    if page:
        write_report(analysis, folder / "page.html")
    return analysis.results, results_table(frames)


def test_two_tasks_three_arms_and_three_seeds_from_the_file_to_the_page(tmp_path: Path) -> None:
    path = write_study(
        tmp_path,
        "streamed",
        tasks=TASKS,
        arms=["a", "b", "c"],
        sampling={"configurations": 8, "replicates": 3, "seed": 2},
    )
    store = store_url(tmp_path)
    assert main(["sweep", str(path), "--store", store, "--inline", "--quiet"]) == 0
    assert main(["report", "simulated", "--store", store, "--out", str(tmp_path / "page.html")]) == 0
    out = tmp_path / "report.json"
    assert main(["report", "simulated", "--store", store, "--format", "json", "--out", str(out)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert found["complete"]
    assert found["sampling"]["tasks"] == ["cifar", "mnist"]
    assert found["sampling"]["pairs"] == 8 * 3 * 2
    assert any("about these 2 tasks only: cifar, mnist" in sentence for sentence in found["verdict"])
    assert found["tasks"]["only_these"]
    assert found["tasks"]["ranks"] is None
    assert [task["task"] for task in found["tasks"]["on"]] == ["cifar", "mnist"]
    assert len(found["tasks"]["over"]) == len(found["tasks"]["on"][0]["paired"]) == 3
    assert "Task by task" in page
    assert "over tasks" in page


def test_the_comparison_over_tasks_is_that_of_the_tables_of_trials(tmp_path: Path) -> None:
    results, table = analysed(
        tmp_path, tasks=TASKS, arms=["a", "b"], sampling={"configurations": 12, "replicates": 2, "seed": 4}
    )
    assert set(table["task"]) == {"cifar", "mnist"}
    assert table["replicate"].max() == 1
    nothing = table.assign(value=(table["outcome_best"] == "learned_nothing").astype(float))
    strata, scores, scales = [], [], []
    for _, own in nothing.groupby("task"):
        a, b = (own[own["arm"] == arm].sort_values(["configuration", "replicate"]) for arm in ("a", "b"))
        strata.append(Pairs(a["value"], b["value"], a["configuration"]))
        scores.append(Pairs(a["best"], b["best"], a["configuration"]))
        scales.append(float(own.groupby(["arm", "configuration"])["best"].mean().std(ddof=1)))
    tested, spread, mean = stratified_test(strata), heterogeneity(strata), stratified_mean(scores, scales)
    assert tested is not None
    assert spread is not None
    assert mean is not None
    (over,) = results["tasks"]["over"]
    assert (over["p_value"], over["difference"]) == pytest.approx((tested.p_value, tested.difference))
    assert (over["low"], over["high"]) == pytest.approx((tested.interval.low, tested.interval.high))
    assert (over["q"], over["q_p_value"]) == pytest.approx((spread.q, spread.p_value))
    main_entry = results["scores"][0]
    assert main_entry["mean_difference"] == pytest.approx(mean[0])
    assert main_entry["p_value"] == pytest.approx(mean[1].p_value)
    for task in results["tasks"]["on"]:
        own = nothing[nothing["task"] == task["task"]]
        share = own[own["arm"] == "a"].groupby("configuration")["value"].mean().mean()
        assert task["arms"]["a"]["learned_nothing"]["fraction"] == pytest.approx(share)


def test_five_tasks_are_ranked_and_drawn(tmp_path: Path) -> None:
    tasks = [{"name": name} for name in "vwxyz"]
    results, table = analysed(
        tmp_path, page=True, tasks=tasks, arms=["a", "b", "c"], sampling={"configurations": 4, "seed": 1}
    )
    means = table.groupby(["task", "arm"])["best"].mean().unstack()  # noqa: PD010
    expected = stats.friedmanchisquare(*(means[arm] for arm in ("a", "b", "c")))
    assert results["tasks"]["ranks"]["p_value"] == pytest.approx(expected.pvalue)
    assert not results["tasks"]["only_these"]
    assert "Mean ranks over tasks" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_arms_that_share_no_space_are_compared_as_independent_samples(tmp_path: Path) -> None:
    results, table = analysed(
        tmp_path, page=True, space=None, arms=OWN, sampling={"configurations": 15, "replicates": 1, "seed": 6}
    )
    assert not results["sampling"]["paired"]
    nothing = (table["outcome_best"] == "learned_nothing").astype(float)
    adam, sgd = (nothing[table["arm"] == arm] for arm in ("adam", "sgd"))
    low, high = confint_proportions_2indep(adam.sum(), 15, sgd.sum(), 15, method="newcomb", compare="diff")
    entry = results["paired"][0]
    assert (entry["low"], entry["high"]) == pytest.approx((low, high), abs=1e-9)
    assert (entry["test"], entry["both"]) == ("Newcombe", None)
    scores = results["scores"][0]
    first, second = (table.loc[table["arm"] == arm, "best"] for arm in ("adam", "sgd"))
    welch = stats.ttest_ind(first, second, equal_var=False)
    assert scores["p_value"] == pytest.approx(welch.pvalue)
    assert scores["mean_difference"] == pytest.approx(first.mean() - second.mean())
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "not paired" in " ".join(results["verdict"])
    assert "Tests without pairs" in page
    # Each arm's own hyperparameters are its own.
    assert set(results["sensitivity"]["hyperparameters"]["sgd: momentum"]["arms"]) == {"sgd"}
    assert results["sensitivity"]["winners"]["sgd"]["hyperparameters"].keys() == {"rate", "momentum"}
    assert table.loc[table["arm"] == "adam", "momentum"].isna().all()
    assert table.loc[table["arm"] == "sgd", "rate"].between(0.01, 1.0).all()


def test_arms_that_share_a_part_of_their_space_are_paired(tmp_path: Path) -> None:
    results, table = analysed(
        tmp_path, page=True, space={"batch": [16, 32]}, arms=OWN, sampling={"configurations": 10, "seed": 6}
    )
    assert results["sampling"]["paired"]
    assert results["sampling"]["pairs"] == 10
    batches = table.pivot_table(index="configuration", columns="arm", values="batch")
    assert (batches["adam"] == batches["sgd"]).all()
    assert results["paired"][0]["pairs"] == 10


def test_runs_without_a_partner_stand_beside_the_pairs(tmp_path: Path) -> None:
    results, table = analysed(
        tmp_path,
        "partly_failing",
        page=True,
        sampling={"configurations": 20, "seed": 3},
        resources={"cpu": 1, "max_attempts": 1},
    )
    runs = results["all_runs"]["arms"]
    assert runs["first"]["counted"] == 20
    assert runs["first"]["paired"] == runs["second"]["counted"] < 20
    counted = table[table["status"] == "finished"]
    first, second = (counted.loc[counted["arm"] == arm, "best"] for arm in ("first", "second"))
    (scores,) = results["all_runs"]["scores"]
    assert scores["p_value"] == pytest.approx(stats.ttest_ind(first, second, equal_var=False).pvalue)
    paired = counted.pivot_table(index="configuration", columns="arm", values="best").dropna()
    assert results["scores"][0]["mean_difference"] == pytest.approx(float(np.mean(paired["first"] - paired["second"])))
    assert "Runs without a partner" in (tmp_path / "page.html").read_text(encoding="utf-8")
