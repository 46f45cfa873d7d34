from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.formula.api import ols

from robustness.statistics.clusters import configuration_means, effective_number, within_correlation


def test_one_value_for_each_configuration_counts_once() -> None:
    assert effective_number([0, 1, 1, 0, 1], [4, 2, 7, 1, 9]) == 5
    assert effective_number([], []) == 0


def test_the_correlation_is_that_of_the_analysis_of_variance_shrunk_by_one_configuration() -> None:
    rng = np.random.default_rng(0)
    rates = rng.random(9)
    owners = np.repeat(np.arange(9), [3, 3, 3, 2, 3, 3, 1, 3, 3])
    values = (rng.random(len(owners)) < rates[owners]).astype(float)
    table = sm.stats.anova_lm(ols("v ~ C(g)", pd.DataFrame({"v": values, "g": owners})).fit())
    between, within = table["mean_sq"]
    sizes = np.bincount(owners)
    usual = (len(values) - (sizes**2).sum() / len(values)) / 8
    rho = min(1, max(0, (between - within) / (between + (usual - 1) * within)))
    most = float(np.round(values.mean()))
    informative = len({int(owner) for owner, value in zip(owners, values, strict=True) if value != most})
    assert within_correlation(values, owners) == pytest.approx((1 + informative * rho) / (1 + informative))


@pytest.mark.parametrize("r", [2, 5])
def test_unrelated_replicates_are_worth_almost_all_of_their_number(r: int) -> None:
    rng = np.random.default_rng(r)
    values = (rng.random((200, r)) < 0.5).astype(float)
    number = effective_number(values.ravel(), np.repeat(np.arange(200), r))
    assert 0.85 * 200 * r < number <= 200 * r


def test_the_effective_number_gives_the_variance_of_the_mean() -> None:
    """Of 400 configurations with rates of their own, uniform on 0 to 1: rho = 1/3, so n = 400 / (1/3 + 2/3 / 4)."""
    rng = np.random.default_rng(3)
    numbers, means = [], []
    for _ in range(300):
        values = (rng.random((400, 4)) < rng.random((400, 1))).astype(float)
        numbers.append(effective_number(values.ravel(), np.repeat(np.arange(400), 4)))
        means.append(values.mean())
    assert np.mean(numbers) == pytest.approx(800, rel=0.03)
    assert 0.25 / np.var(means) == pytest.approx(800, rel=0.2)


def test_the_means_of_configurations_are_in_the_order_of_their_numbers() -> None:
    assert configuration_means([1, 0, 1, 1], [5, 5, 2, 2]).tolist() == [1.0, 0.5]
