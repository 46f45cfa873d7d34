"""Tests of single levels, against the hypergeometric distribution and all permutations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from robustness.statistics.levels import level_tests

NO_BLOCKS: dict[str, np.ndarray] = {}


def test_in_one_block_it_is_fishers_exact_test() -> None:
    rng = np.random.default_rng(0)
    level = rng.integers(3, size=60)
    fails = (rng.random(60) < np.where(level == 2, 0.6, 0.3)).astype(float)
    for test in level_tests({"h": level}, NO_BLOCKS, fails):
        here = level == test.level
        count = stats.hypergeom(60, int(fails.sum()), int(here.sum()))
        possible = np.arange(61)
        away = np.abs(possible - count.mean()) >= abs(fails[here].sum() - count.mean()) - 1e-9
        assert test.p_value == pytest.approx(count.pmf(possible)[away].sum())
        assert (test.here, test.elsewhere) == (fails[here].mean(), fails[~here].mean())


@pytest.mark.parametrize(
    ("values", "tolerance"),
    [([1.0, 0.5, 0.0, 0.5, 0.0, 1.0, 1.0, 0.5, 1.0, 0.5], 0.03), ([1, 1, 0, 0, 0, 1, 1, 0, 1, 0], 1e-12)],
    ids=["drawn", "exact"],
)
def test_configurations_are_exchanged_within_their_block_alone(values: list[float], tolerance: float) -> None:
    level = np.array([0, 0, 1, 1, 1, 0, 1, 1, 0, 1])
    block = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    fails = np.array(values, dtype=float)
    expected = 2 * fails[:5].mean() + 2 * fails[5:].mean()
    observed = fails[level == 0].sum() - expected
    sums = [
        np.concatenate([first, second])[level == 0].sum()
        for first in itertools.permutations(fails[:5])
        for second in itertools.permutations(fails[5:])
    ]
    exact = np.mean(np.abs(np.array(sums) - expected) >= abs(observed) - 1e-9)
    test = level_tests({"h": level}, {"h": block}, fails)[0]
    assert test.excess == pytest.approx(observed / 4)
    assert test.p_value == pytest.approx(exact, abs=tolerance)


def test_without_an_effect_a_level_is_seldom_named() -> None:
    rng = np.random.default_rng(1)
    named = 0
    for _ in range(200):
        levels = {name: rng.integers(count, size=50) for name, count in (("a", 4), ("b", 3), ("c", 2))}
        tests = level_tests(levels, NO_BLOCKS, (rng.random(50) < 0.4).astype(float))
        named += any(test.p_adjusted < 0.05 for test in tests)
    assert named / 200 < 0.08


def test_nothing_is_tested_where_all_fail_alike_or_nothing_varies() -> None:
    level = np.array([0, 1] * 10)
    assert level_tests({"h": level}, NO_BLOCKS, np.zeros(20)) == []
    assert level_tests({"h": np.zeros(20, dtype=int)}, NO_BLOCKS, np.arange(20.0)) == []
