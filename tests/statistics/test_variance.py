from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import mixedlm

from robustness.statistics.variance import nested_parts, variance_parts


def test_balanced_variances_agree_with_a_mixed_model() -> None:
    rng = np.random.default_rng(0)
    groups = [0.7 + 0.1 * rng.normal() + 0.04 * rng.normal(size=4) for _ in range(30)]
    frame = pd.DataFrame({"score": np.concatenate(groups), "configuration": np.repeat(np.arange(30), 4)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = mixedlm("score ~ 1", frame, groups=frame["configuration"]).fit(reml=True)
    parts = variance_parts(groups)
    assert parts is not None
    assert parts.seed == pytest.approx(fit.scale, rel=1e-3)
    assert parts.hyperparameters == pytest.approx(float(fit.cov_re.iloc[0, 0]), rel=1e-2)


def test_variances_of_unbalanced_groups_are_right_on_average() -> None:
    rng = np.random.default_rng(1)
    estimates = []
    for _ in range(300):
        groups = [rng.normal(0, 2) + rng.normal(0, 1, size=size) for size in [1, 2, 3, 4] * 5]
        parts = variance_parts(groups)
        assert parts is not None
        estimates.append((parts.hyperparameters, parts.seed))
    assert np.mean(estimates, axis=0) == pytest.approx([4.0, 1.0], rel=0.1)


def test_without_replicates_there_are_no_components() -> None:
    assert variance_parts([np.array([0.5]), np.array([0.7])]) is None
    assert variance_parts([np.array([0.5, 0.6])]) is None


def test_the_share_of_a_constant_score_is_nan() -> None:
    parts = variance_parts([np.array([0.7, 0.7]), np.array([0.7, 0.7])])
    assert parts is not None
    assert np.isnan(parts.share)


def test_tasks_configurations_and_seeds_are_told_apart() -> None:
    rng = np.random.default_rng(3)
    tasks, configurations, replicates = 200, 10, 4
    scores = rng.normal(0, 3, (tasks, 1, 1)) + rng.normal(0, 2, (tasks, configurations, 1))
    scores = scores + rng.normal(0, 1, (tasks, configurations, replicates))
    parts = nested_parts([list(task) for task in scores])
    assert parts is not None
    assert (parts.task, parts.hyperparameters, parts.seed) == pytest.approx((9, 4, 1), rel=0.15)


def test_a_balanced_design_has_the_components_of_its_mean_squares() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(3, 5, 2)) + rng.normal(size=(3, 5, 1)) + np.array([0.0, 2.0, 5.0])[:, None, None]
    parts = nested_parts([list(task) for task in scores])
    of_means = scores.mean(axis=2)
    seed = float(scores.var(axis=2, ddof=1).mean())
    between = float(of_means.var(axis=1, ddof=1).mean())
    assert parts is not None
    assert parts.seed == pytest.approx(seed)
    assert parts.hyperparameters == pytest.approx(between - seed / 2)
    assert parts.task == pytest.approx(float(of_means.mean(axis=1).var(ddof=1)) - between / 5)


def test_without_replicates_the_seed_is_part_of_the_configurations() -> None:
    parts = nested_parts([[np.array([0.1]), np.array([0.3])], [np.array([0.6]), np.array([0.7])]])
    assert parts is not None
    assert parts.seed is None
    assert nested_parts([[np.array([0.1]), np.array([0.3])]]) is None
