"""Approximate posteriors over the weights of one layer, a flat vector of D entries.

    Gaussian    w = mu + sigma eps                       eps ~ N(0, I)
    Radial      w = mu + sigma (eps / ||eps||) |r|       r ~ N(0, 1), one radius for each normalisation group
    Truncated   Gaussian with each |eps_i| <= threshold by rejection; entropy and moments are those of the Gaussian
    Point       w = mu

with sigma = softplus(rho), multiplied by `spread` in control arms that scale it. All densities are normalised.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

EULER_GAMMA = 0.57721566490153286
MEAN_LOG_RADIUS = -(EULER_GAMMA + math.log(2.0)) / 2.0
"""E[log |r|] for r ~ N(0, 1)."""
LOG_TWO_PI = math.log(2.0 * math.pi)
TINY = torch.finfo(torch.float32).tiny


class Noise(Protocol):
    """Source of randomness: one generator for each purpose and layer."""

    def generator(self, purpose: str, layer: int) -> torch.Generator:
        """Generator for `weight_noise`, `radius` or `dropout`, the same for every arm of a pair."""


class Posterior(nn.Module, ABC):
    """A distribution over a weight vector of D entries, divided into normalisation groups whose sizes sum to D."""

    mean: nn.Parameter

    def __init__(self, mean: Tensor, groups: Sequence[int] | None = None) -> None:
        super().__init__()
        self.mean = nn.Parameter(mean.detach().clone())
        self.groups = tuple(groups) if groups is not None else (mean.numel(),)
        if sum(self.groups) != mean.numel():
            raise ValueError(f"groups {self.groups} do not sum to {mean.numel()} weights")

    @property
    def size(self) -> int:
        return self.mean.numel()

    @abstractmethod
    def sample(self, samples: int, noise: Noise, layer: int = 0) -> Tensor:
        """Draws of the weights, [samples, D], differentiable with respect to the parameters."""

    @abstractmethod
    def log_density(self, weights: Tensor) -> Tensor:
        """log q(w) for weights [..., D], as [...]."""

    @abstractmethod
    def entropy(self) -> Tensor:
        """-E_q[log q(w)], a scalar."""

    @abstractmethod
    def variance(self) -> Tensor:
        """Variance of each weight, [D]."""


class PointPosterior(Posterior):
    """A point mass at the means: a deterministic network, which has no KL term."""

    def sample(self, samples: int, noise: Noise, layer: int = 0) -> Tensor:  # noqa: ARG002
        return self.mean.expand(samples, -1)

    def log_density(self, weights: Tensor) -> Tensor:  # noqa: ARG002
        raise ValueError("a point posterior has no density")

    def entropy(self) -> Tensor:
        return self.mean.new_zeros(())

    def variance(self) -> Tensor:
        return torch.zeros_like(self.mean)


class GaussianPosterior(Posterior):
    """Mean-field Gaussian, N(mu_i, sigma_i^2) for each weight.

    log q(w) = -1/2 sum ((w_i - mu_i) / sigma_i)^2 - sum log sigma_i - D/2 log 2 pi
    """

    rho: nn.Parameter

    def __init__(
        self, mean: Tensor, rho: float | Tensor, groups: Sequence[int] | None = None, spread: float | Tensor = 1.0
    ) -> None:
        super().__init__(mean, groups)
        self.rho = nn.Parameter(torch.as_tensor(rho, dtype=mean.dtype).expand_as(mean).detach().clone())
        self.spread: Tensor | None
        constant = torch.as_tensor(spread, dtype=mean.dtype)
        self.register_buffer("spread", None if bool((constant == 1).all()) else constant.expand_as(mean).clone())

    def scale(self) -> Tensor:
        """sigma, [D]: softplus(rho), times `spread`."""
        sigma = F.softplus(self.rho)
        return sigma if self.spread is None else sigma * self.spread

    def base_noise(self, samples: int, noise: Noise, layer: int, out: Tensor | None = None) -> Tensor:
        """eps, [samples, D], written to `out` if that is not None."""
        generator = noise.generator("weight_noise", layer)
        if out is not None and out.dtype == torch.float32 and out.device.type == "cpu":
            for row in out if samples > 1 else (out,):
                row.normal_(generator=generator)
            return out
        eps = torch.randn(samples, self.size, generator=generator, device=self.mean.device)
        return eps.to(self.mean.dtype) if out is None else out.copy_(eps)

    def standard_draws(self, samples: int, noise: Noise, layer: int, out: Tensor | None = None) -> Tensor:
        """Standardised draws (w - mu) / sigma, [samples, D], written to `out` if that is not None."""
        return self.base_noise(samples, noise, layer, out)

    def sample(self, samples: int, noise: Noise, layer: int = 0) -> Tensor:
        return torch.addcmul(self.mean, self.scale(), self.standard_draws(samples, noise, layer))

    def log_density(self, weights: Tensor) -> Tensor:
        sigma = self.scale()
        squares = ((weights - self.mean) / sigma).square().sum(-1)
        return -0.5 * squares - sigma.log().sum() - 0.5 * self.size * LOG_TWO_PI

    def entropy(self) -> Tensor:
        return self.scale().log().sum() + self.standard_entropy()

    def standard_entropy(self) -> float:
        """Entropy of the standardised draws; the entropy of the posterior adds sum log sigma_i."""
        return 0.5 * self.size * (LOG_TWO_PI + 1.0)

    def standard_variance(self) -> Tensor:
        """Variance of the standardised draws, [D]; the variance of a weight is sigma_i^2 times as large."""
        return torch.ones_like(self.mean)

    def variance(self) -> Tensor:
        return self.scale().square() * self.standard_variance()


class TruncatedGaussianPosterior(GaussianPosterior):
    """Draws from a truncated Gaussian with the KL of the full one: biased, but less noisy (the paper's App. E)."""

    def __init__(
        self, mean: Tensor, rho: float | Tensor, threshold: float, groups: Sequence[int] | None = None
    ) -> None:
        super().__init__(mean, rho, groups)
        if not threshold > 0:
            raise ValueError(f"threshold must be positive, not {threshold}")
        self.threshold = threshold

    def base_noise(self, samples: int, noise: Noise, layer: int, out: Tensor | None = None) -> Tensor:
        """eps with each |eps_i| <= threshold: values outside are redrawn."""
        generator = noise.generator("weight_noise", layer)
        eps = torch.randn(samples, self.size, generator=generator, device=self.mean.device).to(self.mean.dtype)
        on_cpu = self.mean.device.type == "cpu"
        eps = self._by_rejection(eps, generator) if on_cpu else self._by_inversion(eps, generator)
        return eps if out is None else out.copy_(eps)

    def _by_inversion(self, eps: Tensor, generator: torch.Generator) -> Tensor:
        """Replace values outside by Phi^-1 of a uniform number: the same distribution without a synchronisation."""
        edge = math.erf(self.threshold / math.sqrt(2))
        uniform = torch.rand(eps.shape, generator=generator, device=eps.device).to(eps.dtype)
        within = math.sqrt(2) * torch.erfinv((2 * uniform - 1) * edge)
        # Rounding may turn a uniform number near 0 or 1 into an infinite value.
        return torch.where(eps.abs() <= self.threshold, eps, within.clamp(-self.threshold, self.threshold))

    def _by_rejection(self, accepted: Tensor, generator: torch.Generator) -> Tensor:
        """Redraw values outside until none are left; on a GPU counting them would force a synchronisation each time."""
        device, dtype = accepted.device, accepted.dtype
        outside = accepted.abs() > self.threshold
        while rejected := int(outside.sum()):
            # Several candidates for each rejected value, so that small thresholds do not take hundreds of rounds.
            candidates = torch.randn(4 * rejected + 64, generator=generator, device=device).to(dtype)
            candidates = candidates[candidates.abs() <= self.threshold][:rejected]
            places = outside.nonzero()[: len(candidates)]
            accepted[places[:, 0], places[:, 1]] = candidates
            outside[places[:, 0], places[:, 1]] = False
        return accepted


class RadialPosterior(GaussianPosterior):
    """Radial posterior: a uniform direction and a half-normal radius in the space of (w - mu) / sigma.

    For each group of D weights, with t = ||(w - mu) / sigma|| and S_D = 2 pi^(D/2) / Gamma(D/2):

        log q(w) = 1/2 log(2/pi) - t^2/2 - (D-1) log t - log S_D - sum log sigma_i
        E_q[log q] = 1/2 log(2/pi) - 1/2 - (D-1) E[log |r|] - log S_D - sum log sigma_i

    The paper's appendix has half of the third term of E_q[log q] and a different constant; this is the corrected form.
    """

    def standard_draws(self, samples: int, noise: Noise, layer: int, out: Tensor | None = None) -> Tensor:
        """(eps / ||eps||) |r|, [samples, D]."""
        eps = self.base_noise(samples, noise, layer, out)
        radii = self.radius(samples, noise, layer)
        for part, radius in zip(torch.split(eps, list(self.groups), dim=1), torch.split(radii, 1, dim=1), strict=True):
            length = torch.linalg.vector_norm(part, dim=1, keepdim=True)
            part.mul_(radius / length.clamp_min_(TINY))
        return eps

    def radius(self, samples: int, noise: Noise, layer: int) -> Tensor:
        """|r| of each draw and group, [samples, groups]."""
        generator = noise.generator("radius", layer)
        draws = torch.randn(samples, len(self.groups), generator=generator, device=self.mean.device)
        return draws.abs_().to(self.mean.dtype)

    def log_density(self, weights: Tensor) -> Tensor:
        return radial_log_density(weights, self.mean, self.scale(), self.groups)

    def standard_entropy(self) -> float:
        return sum(-0.5 * math.log(2 / math.pi) + 0.5 + (d - 1) * MEAN_LOG_RADIUS + log_sphere(d) for d in self.groups)

    def standard_variance(self) -> Tensor:
        return torch.cat([self.mean.new_full((d,), 1.0 / d) for d in self.groups])


def log_sphere(dimension: int) -> float:
    """log S_D, the area of the unit sphere in D dimensions: log(2 pi^(D/2) / Gamma(D/2))."""
    return math.log(2.0) + 0.5 * dimension * math.log(math.pi) - math.lgamma(0.5 * dimension)


def radial_log_density(weights: Tensor, mean: Tensor, scale: Tensor, groups: Sequence[int]) -> Tensor:
    """Radial log density at weights [..., D], as [...]; log t is clamped, since the density is infinite at mu."""
    standard = (weights - mean) / scale
    total = -scale.log().sum().expand(standard.shape[:-1])
    for group in torch.split(standard, list(groups), dim=-1):
        dimension = group.shape[-1]
        t = group.norm(dim=-1).clamp_min(torch.finfo(group.dtype).tiny)
        total = (
            total + 0.5 * math.log(2 / math.pi) - 0.5 * t.square() - (dimension - 1) * t.log() - log_sphere(dimension)
        )
    return total
