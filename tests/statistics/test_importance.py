"""Importance of hyperparameters, against scipy, brute force and simulated studies (`benchmarks/importance.py`)."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from robustness.statistics.importance import Importance, importances

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import importance as simulated


def one(
    level: NDArray[np.int64], scores: NDArray[np.float64], block: NDArray[np.int64] | None = None, seed: int = 0
) -> Importance:
    return importances({"h": level}, {} if block is None else {"h": block}, scores, seed).of["h"]


def test_it_is_epsilon_squared_of_kruskal_and_wallis_with_its_p_value() -> None:
    rng = np.random.default_rng(0)
    level = rng.integers(4, size=120)
    scores = np.round(rng.normal(size=120) + 0.3 * (level == 2), 1)
    statistic, p_value = stats.kruskal(*(scores[level == each] for each in range(4)))
    found = one(level, scores)
    assert found.raw == pytest.approx(statistic / 119)
    assert found.explained == pytest.approx((statistic - 3) / 116)
    assert found.p_value == pytest.approx(p_value, abs=0.03)


def test_the_p_value_and_the_mean_under_no_effect_are_those_of_all_permutations_within_blocks() -> None:
    level = np.array([0, 0, 1, 1, 2, 0, 1, 2, 2, 1])
    block = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    scores = np.array([0.1, 0.4, 0.9, 0.8, 0.3, 2.1, 2.9, 2.2, 2.5, 2.4])
    ranks = stats.rankdata(scores)

    def share(y: NDArray[np.float64]) -> float:
        means = np.array([y[level == each].mean() for each in level])
        return float(((means - y.mean()) ** 2).sum() / ((y - y.mean()) ** 2).sum())

    every = [
        share(np.concatenate([first, second]))
        for first in itertools.permutations(ranks[:5])
        for second in itertools.permutations(ranks[5:])
    ]
    found = one(level, scores, block)
    expected = np.mean(every)
    assert found.explained == pytest.approx((share(ranks) - expected) / (1 - expected))
    assert found.p_value == pytest.approx(np.mean(np.array(every) >= share(ranks) - 1e-9), abs=0.03)


def test_within_its_block_a_hyperparameter_that_only_some_configurations_have_is_judged() -> None:
    rng = np.random.default_rng(1)
    sgd = np.arange(200) % 2
    decay = np.where(sgd == 1, rng.integers(3, size=200), -1)
    scores = 3.0 * sgd + rng.normal(size=200)
    without = importances({"optimizer": sgd, "decay": decay}, {"decay": sgd}, scores).of
    assert not without["optimizer"].within_null
    assert without["decay"].within_null
    with_effect = importances({"optimizer": sgd, "decay": decay}, {"decay": sgd}, scores + 2.0 * (decay == 1)).of
    assert not with_effect["decay"].within_null


def test_a_value_that_depends_on_an_important_choice_needs_blocks() -> None:
    rng = np.random.default_rng(2)
    optimizer = np.arange(100) % 2
    rate = optimizer + rng.integers(3, size=100)
    scores = 2.0 * optimizer + rng.normal(size=100)
    assert not one(rate, scores).within_null, "by itself the rate tells the optimiser"
    assert one(rate, scores, optimizer).within_null


def test_what_is_beyond_the_null_exceeds_chance_and_has_an_interval_that_leaves_out_zero() -> None:
    rng = np.random.default_rng(3)
    seen = set()
    for effect in (0.0, 0.4, 0.8, 1.6) * 6:
        levels = {f"h{place}": rng.integers(4, size=60) for place in range(5)}
        found = importances(levels, {}, rng.normal(size=60) + effect * (levels["h0"] == 0)).of
        for entry in found.values():
            seen.add(entry.within_null)
            assert entry.within_null == (entry.explained <= entry.chance + 1e-9)
            assert entry.within_null == (entry.p_adjusted >= 0.05)
            assert entry.p_adjusted == min(1.0, 5 * entry.p_value)
            assert entry.within_null == (entry.low <= 0)
            assert entry.low <= entry.explained <= entry.high
    assert seen == {True, False}


def test_the_most_important_comes_first_and_explains_what_it_should() -> None:
    rng = np.random.default_rng(4)
    levels = {"batch": rng.integers(3, size=4000), "rho": rng.integers(4, size=4000)}
    scores = (levels["rho"] == 0) + rng.normal(0, 1e-9, 4000)
    found = importances(levels, {}, scores).of
    assert list(found) == ["rho", "batch"]
    # Ranks of the quarter on top lie 3/8 of the range above the mean, the others 1/8 below: (9 + 3) / 256 over 1/12.
    assert found["rho"].explained == pytest.approx(12 * (0.25 * (3 / 8) ** 2 + 0.75 * (1 / 8) ** 2), abs=0.02)
    assert found["rho"].low < 0.5625 < found["rho"].high


def test_it_says_why_it_is_unknown() -> None:
    level = np.arange(20) % 4
    scores = np.linspace(0.5, 0.9, 20)
    assert importances({"h": level[:9]}, {}, scores[:9]).why_not == "it takes at least 10 configurations"
    assert importances({"h": level}, {}, np.full(20, 0.7)).why_not == "all configurations have the same score"
    assert importances({"h": np.zeros(20, dtype=np.int64)}, {}, scores).why_not == "no hyperparameter varies"
    assert importances({}, {}, np.array([])).of == {}


def test_a_level_that_its_block_determines_has_no_importance_of_its_own() -> None:
    level = np.arange(20) % 2
    found = one(level, 1.0 * level + np.linspace(0, 0.1, 20), level)
    assert found.explained == pytest.approx(0, abs=1e-6)
    assert found.p_value == 1.0


@pytest.mark.parametrize("case", [simulated.NO_EFFECT[0], simulated.NO_EFFECT[2]], ids=simulated.describe)
def test_in_simulated_studies_no_effect_is_within_the_null(case: simulated.Case) -> None:
    found = simulated.watch(case, 40, seed=7)
    assert sum(entry.within_null for entry in found) >= 38
    explained = np.array([entry.explained for entry in found])
    assert abs(explained.mean()) < 4 * explained.std() / np.sqrt(len(found))


def test_in_simulated_studies_an_effect_of_a_third_of_the_variance_is_found() -> None:
    found = simulated.watch(simulated.Case("initial_rho", {"initial_rho": 1.5}), 20, seed=7)
    assert sum(not entry.within_null for entry in found) >= 17
