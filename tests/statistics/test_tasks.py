"""Comparisons over tasks: against statsmodels, closed forms and simulation."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.meta_analysis import combine_effects

from robustness.statistics.means import mean_test
from robustness.statistics.paired import paired_test
from robustness.statistics.tasks import Pairs, cochran, correlation, heterogeneity, stratified_mean, stratified_test

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from strata import false_positives

RNG = np.random.default_rng(5)


def pairs(both: int, first: int, second: int, neither: int, start: int = 0) -> Pairs:
    a = np.repeat([1, 1, 0, 0], [both, first, second, neither])
    b = np.repeat([1, 0, 1, 0], [both, first, second, neither])
    return Pairs(a, b, np.arange(start, start + len(a)))


def test_one_task_is_the_paired_test_of_it() -> None:
    only = pairs(5, 9, 2, 10)
    found, alone = stratified_test([only]), paired_test(only.first, only.second, only.owners)
    assert found is not None
    assert (found.p_value, found.difference) == pytest.approx((alone.p_value, alone.difference))
    assert (found.interval.low, found.interval.high) == pytest.approx((alone.interval.low, alone.interval.high))


def test_without_correlation_it_is_mantel_haenszels_test_with_every_pair_as_a_stratum() -> None:
    tasks = [pairs(5, 9, 2, 10), pairs(3, 4, 6, 8, 100), pairs(0, 12, 3, 5, 200)]
    tables = []
    for task in tasks:
        for a, b in zip(np.asarray(task.first), np.asarray(task.second), strict=True):
            tables.append(np.array([[a, 1 - a], [b, 1 - b]], dtype=float))
    expected = StratifiedTable(tables).test_null_odds(correction=False)
    found = stratified_test(tasks)
    assert found is not None
    # No configuration is on two tasks, so none can be alike on two.
    assert found.effective == pytest.approx(sum(len(np.asarray(task.owners)) for task in tasks))
    assert found.p_value == pytest.approx(float(expected.pvalue))
    assert found.odds_ratio == pytest.approx(StratifiedTable(tables).oddsratio_pooled)
    assert found.odds_ratio == pytest.approx(25 / 11)


def test_a_configuration_that_is_alike_on_all_tasks_counts_once() -> None:
    task = pairs(6, 14, 4, 16)
    single = stratified_test([task])
    copies = stratified_test([task] * 3)
    assert single is not None
    assert copies is not None
    assert copies.effective == pytest.approx(single.effective)
    assert copies.p_value == pytest.approx(single.p_value)


def test_the_interval_leaves_out_zero_exactly_when_the_test_is_significant() -> None:
    for _ in range(200):
        n, tasks = int(RNG.integers(4, 30)), []
        for shift in RNG.uniform(-0.3, 0.3, 3):
            a, b = RNG.random((2, n)) < np.array([[0.5 + shift], [0.5 - shift]])
            tasks.append(Pairs(a, b, np.arange(n)))
        found = stratified_test(tasks)
        assert found is not None
        assert (found.interval.low > 0 or found.interval.high < 0) == (found.p_value < 0.05)


def test_cochrans_q_is_that_of_a_meta_analysis() -> None:
    effects, variances = [0.1, 0.3, -0.2, 0.05], [0.01, 0.02, 0.015, 0.005]
    found = cochran(effects, variances)
    expected = combine_effects(np.array(effects), np.array(variances)).test_homogeneity()
    assert (found.q, found.freedom) == pytest.approx((expected.statistic, expected.df))
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.share == pytest.approx(max(0.0, 1 - 3 / found.q))


def test_heterogeneity_is_of_the_paired_differences() -> None:
    first, second = pairs(10, 18, 2, 10), pairs(10, 2, 18, 10)
    found = heterogeneity([first, second])
    assert found is not None
    b, c, n = 18.5, 2.5, 41
    variance = ((b + c) / n - ((b - c) / n) ** 2) / n
    assert found.q == pytest.approx((0.8 / 2) ** 2 * 2 / variance)
    assert found.p_value < 1e-6
    assert heterogeneity([first]) is None


def test_scores_are_compared_by_the_mean_over_tasks_of_each_configuration() -> None:
    first, second = RNG.normal(0.7, 0.1, (2, 12)), RNG.normal(0.6, 0.1, (2, 12))
    second[1] *= 100
    first[1] *= 100
    tasks = [Pairs(a, b, np.arange(12)) for a, b in zip(first, second, strict=True)]
    found = stratified_mean(tasks, [0.1, 10.0])
    means = ((first - second) / np.array([[0.1], [10.0]])).mean(axis=0)
    assert found is not None
    assert found[0] == pytest.approx(means.mean())
    assert found[1].p_value == pytest.approx(mean_test(means).p_value)
    assert stratified_mean(tasks, [0.0, 0.0]) is None


def test_the_correlation_of_tasks_is_found() -> None:
    shared, apart = RNG.normal(size=400), RNG.normal(size=(3, 400))
    numbers = np.arange(400)
    rho = correlation([(shared + noise, numbers) for noise in apart])
    assert rho == pytest.approx(0.5, abs=0.08)
    assert correlation([(noise, numbers) for noise in apart]) < 0.1
    # Differences between the means of tasks are not differences within them.
    assert correlation([(noise + 5 * place, numbers) for place, noise in enumerate(apart)]) < 0.1


@pytest.mark.parametrize("replicates", [1, 3])
def test_there_are_few_false_positives_with_task_effects_and_replicates(replicates: int) -> None:
    for rates in false_positives(studies=400, configurations=20, tasks=3, replicates=replicates, seed=7):
        # 400 studies: 5 % has a standard error of 1.1 points.
        assert rates.fractions <= 0.055 + 2 * 0.011, rates
        assert rates.scores <= 0.055 + 2 * 0.011, rates


def test_chi_squared_of_the_mantel_haenszel_statistic() -> None:
    tasks = [pairs(5, 9, 2, 10), pairs(3, 4, 6, 8, 100)]
    found = stratified_test(tasks)
    assert found is not None
    assert found.p_value == pytest.approx(float(stats.chi2.sf((9 + 4 - 2 - 6) ** 2 / (9 + 4 + 2 + 6), 1)))
