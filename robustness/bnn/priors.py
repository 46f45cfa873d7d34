"""Priors over the weights of one layer, and the cross-entropy -E_q[log p(w)] of a posterior relative to each.

Every prior has a log density and a cross-entropy. The cross-entropy is in closed form where one exists, else an average
over draws of the posterior; draws are always averaged, never summed, so the KL does not grow with the number of
variational samples.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from robustness.bnn.posteriors import (
    LOG_TWO_PI,
    MEAN_LOG_RADIUS,
    GaussianPosterior,
    Posterior,
    RadialPosterior,
    log_sphere,
    radial_log_density,
)


class Prior(nn.Module, ABC):
    """A distribution over a weight vector of D entries."""

    @abstractmethod
    def log_density(self, weights: Tensor) -> Tensor:
        """log p(w) for weights [..., D], as [...]."""

    def cross_entropy(self, posterior: Posterior, draws: Tensor) -> Tensor:  # noqa: ARG002
        """-E_q[log p(w)], a scalar; by default a mean over draws [S, D] from the posterior."""
        return self.monte_carlo(draws)

    def monte_carlo(self, draws: Tensor) -> Tensor:
        """-E_q[log p(w)] estimated as the mean over draws [S, D]."""
        return -self.log_density(draws).mean()


class GaussianPrior(Prior):
    """N(m_i, s_i^2) for each weight; the unit Gaussian by default.

    -E_q[log p(w)] = 1/2 sum ((mu_i - m_i)^2 + Var_q[w_i]) / s_i^2 + sum log s_i + D/2 log 2 pi
    """

    def __init__(self, mean: float | Tensor = 0.0, scale: float | Tensor = 1.0) -> None:
        super().__init__()
        self.mean: Tensor
        self.scale: Tensor
        self.register_buffer("mean", torch.as_tensor(mean, dtype=torch.get_default_dtype()).detach().clone())
        self.register_buffer("scale", torch.as_tensor(scale, dtype=torch.get_default_dtype()).detach().clone())

    def log_density(self, weights: Tensor) -> Tensor:
        squares = ((weights - self.mean) / self.scale).square().sum(-1)
        return -0.5 * squares - self._log_scale(weights.shape[-1])

    def cross_entropy(self, posterior: Posterior, draws: Tensor) -> Tensor:  # noqa: ARG002
        squares = (posterior.mean - self.mean).square() + posterior.variance()
        return 0.5 * (squares / self.scale.square()).sum() + self._log_scale(posterior.size)

    def _log_scale(self, size: int) -> Tensor:
        """sum log s_i + D/2 log 2 pi."""
        return self.scale.log().expand(size).sum() + 0.5 * size * LOG_TWO_PI


class ScaleMixturePrior(Prior):
    """A mixture of two Gaussians for each weight (Blundell et al. 2015): pi N(0, s_1^2) + (1 - pi) N(0, s_2^2)."""

    def __init__(self, share: float = 0.5, wide: float = 1.0, narrow: float = math.exp(-6)) -> None:
        super().__init__()
        if not 0 < share < 1 or not 0 < narrow < wide:
            raise ValueError("a scale mixture needs 0 < share < 1 and 0 < narrow < wide")
        self.share, self.wide, self.narrow = share, wide, narrow

    def log_density(self, weights: Tensor) -> Tensor:
        parts = [
            math.log(share) - math.log(scale) - 0.5 * LOG_TWO_PI - 0.5 * (weights / scale).square()
            for share, scale in ((self.share, self.wide), (1 - self.share, self.narrow))
        ]
        return torch.logaddexp(*parts).sum(-1)


class RadialPrior(Prior):
    """Radial distribution as a prior for continual learning, with the corrected density or the paper's.

    With t_p = ||(w - mu_p) / sigma_p|| for each group of D weights:

        log p(w) = 1/2 log(2/pi) - t_p^2/2 - (D-1) log t_p - log S_D - sum log sigma_p

    The paper evaluates log t_p at the *posterior's* radius, where it is constant; `corrected=False` reproduces that to
    demonstrate its effect. For a radial posterior E[t_p^2] has a closed form, and E[log t_p] is averaged over the
    directions of the draws, each with both signs, and integrated over the radius: see `mean_log_radius`.
    """

    def __init__(self, mean: Tensor, scale: Tensor, groups: Sequence[int], corrected: bool = True) -> None:
        super().__init__()
        self.mean: Tensor
        self.scale: Tensor
        self.register_buffer("mean", mean.detach().clone())
        self.register_buffer("scale", scale.detach().clone())
        self.groups = tuple(groups)
        self.corrected = corrected

    def log_density(self, weights: Tensor) -> Tensor:
        return radial_log_density(weights, self.mean, self.scale, self.groups)

    def cross_entropy(self, posterior: Posterior, draws: Tensor) -> Tensor:
        if not isinstance(posterior, RadialPosterior) or posterior.groups != self.groups:
            if not self.corrected:
                raise ValueError("the uncorrected radial prior is only defined for a radial posterior")
            return self.monte_carlo(draws)
        offset = (posterior.mean - self.mean) / self.scale
        ratio = posterior.scale() / self.scale
        # The direction of a draw does not depend on the parameters, so no gradient flows through it.
        standard = ((draws - posterior.mean) / posterior.scale()).detach()
        total = self.scale.log().sum()
        parts = zip(*(torch.split(x, list(self.groups), dim=-1) for x in (offset, ratio, standard)), strict=True)
        for delta, relative, noise in parts:
            dimension = delta.numel()
            square = delta.square().sum() + relative.square().sum() / dimension
            total = total + 0.5 * square + log_sphere(dimension) - 0.5 * math.log(2 / math.pi)
            if dimension > 1:
                log_radius: Tensor | float = MEAN_LOG_RADIUS
                if self.corrected:
                    direction = noise / noise.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(noise.dtype).tiny)
                    log_radius = mean_log_radius(delta, relative * direction)
                total = total + (dimension - 1) * log_radius
        return total


def trained_posterior_as_prior(posterior: Posterior, corrected: bool = True) -> Prior:
    """Turn a trained posterior into the prior for the next task in continual learning."""
    if isinstance(posterior, RadialPosterior):
        return RadialPrior(posterior.mean, posterior.scale(), posterior.groups, corrected)
    if isinstance(posterior, GaussianPosterior):
        return GaussianPrior(posterior.mean, posterior.scale())
    raise ValueError(f"a {type(posterior).__name__} cannot be a prior")


def mean_log_radius(offset: Tensor, axes: Tensor) -> Tensor:
    """E[log ||delta + r a||] over r ~ N(0, 1), averaged over axes a, for delta [D] and axes [S, D].

    A normal r is a half-normal one with both signs of the direction, so antithetic sampling comes for free. With
    A = ||delta||^2, B = delta . a and C = ||a||^2 the integrand is half of log(A + 2 r B + r^2 C), integrated over
    x = log |r| by the trapezoidal rule, which converges exponentially here. As a function of x the integrand is smooth
    at delta = 0, where the gradient of a single draw would have an infinite mean: here it is bounded, and 0.
    """
    step = 0.125
    x = torch.arange(-36.0, 2.6, step, dtype=torch.float64, device=offset.device)
    r = x.exp()
    density = math.sqrt(2 / math.pi) * torch.exp(-0.5 * r.square() + x) * step
    density = density / density.sum()
    a = offset.double().square().sum()
    b = (axes.double() * offset.double()).sum(-1, keepdim=True)
    c = axes.double().square().sum(-1, keepdim=True)
    even, odd = a + r.square() * c, 2 * r * b
    smallest = torch.finfo(torch.float64).tiny
    logs = (even + odd).clamp_min(smallest).log() + (even - odd).clamp_min(smallest).log()
    return (0.25 * (logs * density).sum(-1)).mean().to(offset.dtype)
