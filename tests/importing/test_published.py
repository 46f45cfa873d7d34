"""Published studies, imported by the commands of docs/published, against calculations from their files."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.files import data_set

from robustness import Result
from robustness.cli import main

ACCURACY = "fmnist_2c2d,cifar10_3c3d,svhn_wrn164,cifar100_allcnnc"
PUBLISHED = {
    "fmnist_2c2d": (92.27, 92.14, 92.34),
    "cifar10_3c3d": (83.71, 84.41, 84.75),
    "svhn_wrn164": (95.37, 95.53, 95.25),
    "cifar100_allcnnc": (57.06, 60.33, 56.15),
}
"""Mean test accuracy of the last epoch over ten seeds at the best rate, in %: SGD, Momentum, Adam."""
OPTIMIZERS = ("GradientDescentOptimizer", "MomentumOptimizer", "AdamOptimizer")


def store_of(folder: Path) -> str:
    return f"sqlite:///{folder / 'published.db'}"


@pytest.fixture(scope="module")
def deepobs(tmp_path_factory: pytest.TempPathFactory) -> Result:
    source, folder = data_set("published/deepobs") / "epochs.csv.gz", tmp_path_factory.mktemp("deepobs")
    words = ["import", str(source), "--study", "deepobs", "--arm", "optimizer", "--task", "problem", "--judged", "last"]
    words += ["--metric", "test_accuracy", "--only", f"problem={ACCURACY}", "--store", store_of(folder)]
    assert main(words) == 0
    return Result(store_of(folder), "deepobs")


def test_the_twelve_accuracies_of_deepobs_are_found_again(deepobs: Result) -> None:
    trials = deepobs.trials
    for task, published in PUBLISHED.items():
        for arm, accuracy in zip(OPTIMIZERS, published, strict=True):
            own = trials[(trials["task"] == task) & (trials["arm"] == arm)]
            repeated = own.groupby("configuration")["last"].agg(["mean", "size"])
            best = repeated[repeated["size"] == 10]
            assert len(best) == 1
            assert f"{100 * best['mean'].iloc[0]:.2f}" == f"{accuracy:.2f}"


def test_paired_counts_and_tests_of_each_problem_are_those_of_a_calculation_from_the_file(deepobs: Result) -> None:
    file = pd.read_csv(data_set("published/deepobs") / "epochs.csv.gz")
    last = file.sort_values("epoch").drop_duplicates(["problem", "optimizer", "learning_rate", "seed"], keep="last")
    last = last.assign(rate=[float(f"{rate:.5g}") for rate in last["learning_rate"]])
    on: Mapping[str, Any] = {entry["task"]: entry for entry in deepobs.results["tasks"]["on"]}
    for task in PUBLISHED:
        own = last[last["problem"] == task].pivot_table(
            index=["rate", "seed"], columns="optimizer", values="test_accuracy", aggfunc="mean"
        )
        for entry in on[task]["scores"]:
            first, second = entry["arms"]
            # A pair is both optimisers with the same rate and seed; a rate with ten pairs counts once, by their mean.
            means = own[[first, second]].dropna().groupby("rate").mean()
            assert len(means) == 36
            differences = (means[first] - means[second]).to_numpy()
            assert entry["first_wins"]["count"] == (differences > 0).sum()
            assert entry["second_wins"]["count"] == (differences < 0).sum()
            assert entry["mean_difference"] == pytest.approx(differences.mean(), abs=1e-12)
            assert entry["p_wilcoxon"] == pytest.approx(stats.wilcoxon(differences[differences != 0]).pvalue)


@pytest.fixture(scope="module")
def adkins(tmp_path_factory: pytest.TempPathFactory) -> Result:
    source = data_set("published/adkins") / "data_expected_over_seeds.csv"
    folder = tmp_path_factory.mktemp("adkins")
    words = [
        "import",
        str(source),
        "--study",
        "adkins",
        "--arm",
        "alg_type",
        "--task",
        "env_name",
        "--metric",
        "mean_return",
    ]
    words += ["--hyperparameters", "gae_lambda,ent_coef,actor_lr,critic_lr", "--store", store_of(folder)]
    assert main(words) == 2
    assert main([*words, "--missing", "absent-is-diverged"]) == 0
    return Result(store_of(folder), "adkins")


def test_sensitivity_and_tuned_performance_are_those_of_adkins_definitions(adkins: Result) -> None:
    file = pd.read_csv(data_set("published/adkins") / "data_expected_over_seeds.csv")
    low = file.groupby("env_name")["mean_return"].transform(lambda column: np.percentile(column, 5))
    high = file.groupby("env_name")["mean_return"].transform(lambda column: np.percentile(column, 95))
    file["normalised"] = (file["mean_return"] - low) / (high - low)
    setting = ["gae_lambda", "ent_coef", "actor_lr", "critic_lr"]
    places = adkins.results["plane"]["arms"]
    assert len(places) == 7
    for variant, own in file.groupby("alg_type"):
        by_setting = own.pivot_table(index=setting, columns="env_name", values="normalised")
        tuned = by_setting.max().mean()
        sensitivity = tuned - by_setting.dropna().mean(axis=1).max()
        found = places[str(variant)]
        assert found["tuned"] == pytest.approx(tuned, abs=5e-5)
        assert found["sensitivity"] == pytest.approx(sensitivity, abs=5e-5)
        assert found["present"] == pytest.approx(len(own) / 3125, abs=1e-9)
        assert found["tuned_low"] < found["tuned"] < found["tuned_high"]
        assert found["sensitivity_low"] < found["sensitivity"]
    assert f"{100 * places['lambda_ac']['present']:.1f}" == "62.2"


def test_arlbench_is_imported_in_time_and_its_unpaired_tests_are_scipys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = data_set("published/arlbench")
    files = sorted(folder.glob("*.csv.gz"))
    words = ["import", *map(str, files), "--names", "{task}_{arm}.csv.gz", "--study", "arlbench"]
    words += ["--metric", "performance", "--epoch", "budget", "--judged", "last", "--pruned", "last-value"]
    began = time.process_time()
    assert main([*words, "--store", store_of(tmp_path)]) == 0
    assert time.process_time() - began < 60
    assert "imported 30,720 runs of 2 arms (dqn, ppo)" in capsys.readouterr().out
    result = Result(store_of(tmp_path), "arlbench")
    assert len(result.epochs) == 307_200
    every: dict[str, list[pd.Series[float]]] = {"dqn": [], "ppo": []}
    for entry in result.results["tasks"]["on"]:
        scores = {}
        for arm in ("dqn", "ppo"):
            runs = pd.read_csv(folder / f"{entry['task']}_{arm}.csv.gz")
            ends = runs[runs["budget"] == runs["budget"].max()]
            scores[arm] = ends.groupby("run_id")["performance"].mean().to_numpy()
        (found,) = entry["scores"]
        test = stats.ttest_ind(scores["dqn"], scores["ppo"], equal_var=False)
        assert found["p_value"] == pytest.approx(test.pvalue, rel=1e-6, abs=0)
        low, high = test.confidence_interval()
        assert (found["low"], found["high"]) == pytest.approx((low, high))
        pairs = np.sign(scores["dqn"][:, None] - scores["ppo"][None, :])
        assert found["first_wins"]["count"] == (pairs > 0).sum()
        ends = {arm: _ends(folder / f"{entry['task']}_{arm}.csv.gz").groupby(level=0).mean() for arm in every}
        both = pd.concat(list(ends.values()))
        for arm, own in ends.items():
            every[arm].append((own - both.mean()) / both.std())
    # Over tasks: in standard deviations of a task, in which each configuration of each arm counts once, by the mean of
    # its seeds; then a configuration counts by its mean over the two or four tasks on which it was run.
    means = {arm: pd.concat(parts).groupby(level=0).mean() for arm, parts in every.items()}
    assert [len(own) for own in means.values()] == [512, 512]
    over = stats.ttest_ind(means["dqn"], means["ppo"], equal_var=False)
    (last,) = [entry for entry in result.results["scores"] if entry["epoch"] == "last"]
    assert last["p_value"] == pytest.approx(over.pvalue, rel=1e-6, abs=0)
    assert last["mean_difference"] == pytest.approx(means["dqn"].mean() - means["ppo"].mean(), rel=1e-9)


def _ends(path: Path) -> pd.Series[float]:
    """The performance of each run of a file at its end, by configuration."""
    runs = pd.read_csv(path)
    names = [name for name in runs.columns if name.startswith("hp_config.")]
    runs.index = pd.Index(["|".join(map(str, values)) for values in runs[names].itertuples(index=False)])
    ends: pd.Series[float] = runs.loc[runs["budget"] == runs["budget"].max(), "performance"]
    return ends


def test_the_variants_of_adkins_are_compared_pairwise(adkins: Result) -> None:
    names = {tuple(entry["arms"]) for entry in adkins.results["scores"]}
    assert names == set(combinations(adkins.analysis.frames.arms, 2))
