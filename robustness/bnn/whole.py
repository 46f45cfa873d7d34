"""All layers of a network as one vector of weights.

A step over the vector costs what its arithmetic costs. The same step over a dozen layers costs several times that in
small operations, each with its entry in the graph. The layers keep their own parameters, joined here for each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from robustness.bnn.posteriors import LOG_TWO_PI, GaussianPosterior
from robustness.bnn.priors import GaussianPrior, Prior


@dataclass(frozen=True)
class Parameters:
    """The parameters of all weights, as numbers: gradients go to the layers' own parameters directly."""

    mean: Tensor
    """mu, [D]."""
    scale: Tensor
    """sigma, [D]."""
    slope: Tensor
    """d sigma / d rho, [D]."""


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian priors of all layers: what of their cross-entropy no parameter changes."""

    mean: Tensor | None
    """m, [D]; None where all are 0."""
    precision: Tensor | float
    """1 / s^2, [D], or one number for all."""
    constant: float
    """sum log s_i + D/2 log 2 pi."""

    @staticmethod
    def of(priors: Sequence[GaussianPrior], sizes: Sequence[int]) -> Gaussian:
        means = torch.cat([prior.mean.expand(size) for prior, size in zip(priors, sizes, strict=True)])
        scales = torch.cat([prior.scale.expand(size) for prior, size in zip(priors, sizes, strict=True)])
        precision = scales.double().pow(-2).to(scales.dtype)
        constant = float(scales.double().log().sum()) + 0.5 * len(scales) * LOG_TWO_PI
        same = bool((precision == precision[0]).all())
        return Gaussian(means if means.any() else None, float(precision[0]) if same else precision, constant)

    def offset(self, mean: Tensor) -> Tensor:
        """mu - m."""
        return mean if self.mean is None else mean - self.mean

    def weighted(self, values: Tensor) -> Tensor:
        """Values / s^2."""
        return values if isinstance(self.precision, float) and self.precision == 1.0 else values * self.precision


@dataclass(frozen=True)
class Whole:
    """The posteriors of all layers as one, and their priors if all of them are Gaussian."""

    posteriors: tuple[GaussianPosterior, ...]
    sizes: list[int]
    spread: Tensor | None
    """What multiplies softplus(rho), [D]; None where that is 1 for all."""
    standard_variance: Tensor
    """Var[w_i] / sigma_i^2, [D]."""
    standard_entropy: float
    prior: Gaussian | None
    """None if a layer's prior is another one."""

    @staticmethod
    def of(posteriors: Sequence[GaussianPosterior], priors: Sequence[Prior]) -> Whole:
        sizes = [posterior.size for posterior in posteriors]
        spreads = [torch.ones_like(p.mean) if p.spread is None else p.spread for p in posteriors]
        gaussian = [prior for prior in priors if isinstance(prior, GaussianPrior)]
        return Whole(
            posteriors=tuple(posteriors),
            sizes=sizes,
            spread=torch.cat(spreads).detach() if any(p.spread is not None for p in posteriors) else None,
            standard_variance=torch.cat([p.standard_variance() for p in posteriors]).detach(),
            standard_entropy=sum(p.standard_entropy() for p in posteriors),
            prior=Gaussian.of(gaussian, sizes) if len(gaussian) == len(priors) else None,
        )

    def parameters(self) -> Parameters:
        """The layers' means and scales, joined."""
        with torch.no_grad():
            rho = torch.cat([posterior.rho for posterior in self.posteriors])
            mean = torch.cat([posterior.mean for posterior in self.posteriors])
            scale, slope = F.softplus(rho), rho.sigmoid_()
            if self.spread is not None:
                scale, slope = scale.mul_(self.spread), slope.mul_(self.spread)
        return Parameters(mean, scale, slope)

    def draw(self, values: Parameters, standard: Tensor) -> Tensor:
        """mu + sigma z for standard draws z [S, D]."""
        weights: Tensor = _Weights.apply(self, values, standard, *self._leaves())  # type: ignore[no-untyped-call]
        return weights

    def terms(self, values: Parameters) -> tuple[Tensor, Tensor]:
        """The cross-entropy to the Gaussian priors, 0 where there are others, and the entropy.

        1/2 sum ((mu_i - m_i)^2 + Var_q[w_i]) / s_i^2 + sum log s_i + D/2 log 2 pi
        sum log sigma_i + the entropy of the standard draws
        """
        cross_entropy, entropy = _Terms.apply(self, values, *self._leaves())  # type: ignore[no-untyped-call]
        return cross_entropy, entropy

    def _leaves(self) -> tuple[Tensor, ...]:
        return (*(posterior.mean for posterior in self.posteriors), *(posterior.rho for posterior in self.posteriors))

    def by_layer(self, mean: Tensor, rho: Tensor) -> tuple[Tensor, ...]:
        """The gradients in all means and rhos as those of the layers' own, in the order of `_leaves`."""
        return (*torch.split(mean, self.sizes), *torch.split(rho, self.sizes))


class _Weights(torch.autograd.Function):
    """w = mu + sigma z."""

    @staticmethod
    def forward(ctx: Any, whole: Whole, values: Parameters, standard: Tensor, *leaves: Tensor) -> Tensor:  # noqa: ARG004
        ctx.whole, ctx.values = whole, values
        ctx.save_for_backward(standard)
        return torch.addcmul(values.mean, values.scale, standard)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_weights: Tensor) -> tuple[Tensor | None, ...]:
        (standard,) = ctx.saved_tensors
        by_mean, by_scale = _over_draws(by_weights), _over_draws(by_weights * standard)
        return None, None, None, *ctx.whole.by_layer(by_mean, by_scale.mul_(ctx.values.slope))


class _Terms(torch.autograd.Function):
    """The two terms of the KL, with their gradients written out: in them every sum over weights is local."""

    @staticmethod
    def forward(ctx: Any, whole: Whole, values: Parameters, *leaves: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG004
        ctx.whole, ctx.values = whole, values
        entropy = values.scale.log().sum() + whole.standard_entropy
        prior = whole.prior
        if prior is None:
            return torch.zeros_like(entropy), entropy
        offset = prior.offset(values.mean)
        variance = values.scale.square().mul_(whole.standard_variance)
        squares = torch.addcmul(variance, offset, offset)
        return 0.5 * prior.weighted(squares).sum() + prior.constant, entropy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_cross_entropy: Tensor, by_entropy: Tensor) -> tuple[Tensor | None, ...]:
        whole, values = ctx.whole, ctx.values
        by_scale = by_entropy / values.scale
        by_mean = torch.zeros_like(values.mean)
        if whole.prior is not None:
            by_mean = whole.prior.weighted(whole.prior.offset(values.mean) * by_cross_entropy)
            variance = (values.scale * whole.standard_variance).mul_(by_cross_entropy)
            by_scale.add_(whole.prior.weighted(variance))
        return None, None, *whole.by_layer(by_mean, by_scale.mul_(values.slope))


def _over_draws(values: Tensor) -> Tensor:
    """The sum over draws [S, D], which for a single one costs as much as for several unless it is left out."""
    return values[0] if len(values) == 1 else values.sum(0)
