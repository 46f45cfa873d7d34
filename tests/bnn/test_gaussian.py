"""The Gaussian likelihood, checked against scipy and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import logsumexp

from robustness.bnn.gaussian import gaussian_log_density, predictive_log_likelihood, root_mean_squared_error


def test_the_log_density_agrees_with_scipy() -> None:
    rng = np.random.default_rng(0)
    predictions, targets = rng.normal(size=(3, 5)), rng.normal(size=5)
    actual = gaussian_log_density(torch.from_numpy(predictions), torch.from_numpy(targets), 0.7).numpy()
    np.testing.assert_allclose(actual, stats.norm(predictions, 0.7).logpdf(targets), rtol=1e-12)


def test_an_exact_prediction_has_the_density_at_the_mode_in_the_original_units() -> None:
    targets = torch.tensor([0.5, -1.0])
    # On the normalised scale tau = 0.1; a target scale of 20 makes that 2 in the original units.
    actual = predictive_log_likelihood(targets[None], targets, 0.1, target_scale=20.0)
    assert actual == pytest.approx(stats.norm(0, 2).logpdf(0), abs=1e-9)


def test_the_predictive_density_is_the_mean_density_over_the_draws() -> None:
    rng = np.random.default_rng(1)
    predictions, targets = rng.normal(size=(50, 8)), rng.normal(size=8)
    logs = stats.norm(5 + 3 * predictions, 3 * 0.4).logpdf(5 + 3 * targets)
    expected = (logsumexp(logs, axis=0) - math.log(50)).mean()
    actual = predictive_log_likelihood(torch.from_numpy(predictions), torch.from_numpy(targets), 0.4, 3.0)
    assert actual == pytest.approx(expected, rel=1e-12)


def test_many_draws_of_a_gaussian_predict_its_convolution_with_the_noise() -> None:
    draws = torch.randn(200_000, 1, generator=torch.Generator().manual_seed(0))
    actual = predictive_log_likelihood(draws, torch.tensor([0.8]), 0.5)
    assert actual == pytest.approx(stats.norm(0, math.sqrt(1 + 0.25)).logpdf(0.8), abs=0.01)


def test_a_prediction_far_from_the_target_has_a_finite_log_likelihood() -> None:
    actual = predictive_log_likelihood(torch.tensor([[0.0], [1.0]]), torch.tensor([1000.0]), 0.01)
    assert actual == pytest.approx(stats.norm(1, 0.01).logpdf(1000.0) - math.log(2), rel=1e-6)


def test_the_rmse_is_that_of_the_mean_prediction() -> None:
    predictions = torch.tensor([[0.0, 2.0], [2.0, 4.0]])
    assert root_mean_squared_error(predictions, torch.tensor([0.0, 0.0]), 2.0) == pytest.approx(2 * math.sqrt(5))
