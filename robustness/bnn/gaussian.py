"""Gaussian likelihood for regression, y ~ N(f(x), tau^2), and scores of the predictive mixture."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from robustness.bnn.posteriors import LOG_TWO_PI


def gaussian_log_density(predictions: Tensor, targets: Tensor, noise_scale: Tensor | float) -> Tensor:
    """log N(y | f, tau^2) = -1/2 ((y - f) / tau)^2 - log tau - 1/2 log 2 pi, for shapes that broadcast."""
    tau = torch.as_tensor(noise_scale, dtype=predictions.dtype)
    return -0.5 * ((targets - predictions) / tau).square() - tau.log() - 0.5 * LOG_TWO_PI


def predictive_log_likelihood(
    predictions: Tensor, targets: Tensor, noise_scale: Tensor | float, target_scale: float = 1.0
) -> float:
    """Mean over rows of log 1/S sum_s N(y | f_s, tau^2) - log target_scale, for predictions [S, n], targets [n].

    Predictions, targets and tau are in units of `target_scale`; the last term converts the density to the original
    units of the target.
    """
    densities = gaussian_log_density(predictions.double(), targets.double(), noise_scale)
    mixture = torch.logsumexp(densities, dim=0) - math.log(len(predictions))
    return float(mixture.mean()) - math.log(target_scale)


def root_mean_squared_error(predictions: Tensor, targets: Tensor, target_scale: float = 1.0) -> float:
    """RMSE of the mean prediction, for predictions [S, n] and targets [n], times `target_scale`."""
    errors = predictions.double().mean(0) - targets.double()
    return target_scale * math.sqrt(float(errors.square().mean()))
