from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import mixedlm

from robustness.statistics.variance import variance_parts


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
