"""All layers of a network drawn together, as one vector of weights, with the terms of their KL.

A draw, the two terms of the KL and all their gradients are one node of the graph, written out by hand. Over a dozen
layers that is several times faster than each layer's own operations. The vector is worked on in pieces that fit into
the processor's cache.

    w = mu + sigma z                                                  z [S, D]: the posterior's standard draws
    cross-entropy   1/2 sum ((mu_i - m_i)^2 + v_i sigma_i^2) / s_i^2 + sum log s_i + D/2 log 2 pi
    entropy         sum log sigma_i + H[z]

for priors N(m_i, s_i^2), with v_i the variance of z_i.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from robustness.bnn.posteriors import LOG_TWO_PI, GaussianPosterior, Noise
from robustness.bnn.priors import GaussianPrior, Prior

PIECE = 2**17
"""How many weights are worked on at once on a CPU."""


@dataclass(frozen=True)
class Drawn:
    """Draws of all layers."""

    weights: Tensor
    """[S, D]"""
    cross_entropy: Tensor
    """To the Gaussian priors; 0 where there is another prior."""
    entropy: Tensor


@dataclass(frozen=True)
class GaussianPriors:
    """The Gaussian priors of all weights."""

    mean: Tensor | None
    """m, [D]; None where all are 0."""
    precision: Tensor | None
    """1 / s^2, [D]; None where all share one."""
    shared_precision: float
    """The one that all share, else 1."""
    constant: float
    """sum log s_i + D/2 log 2 pi."""

    @staticmethod
    def of(priors: Sequence[Prior], sizes: Sequence[int]) -> GaussianPriors | None:
        """None if one of them is another prior."""
        gaussian = [prior for prior in priors if isinstance(prior, GaussianPrior)]
        if len(gaussian) < len(priors):
            return None
        means = torch.cat([prior.mean.expand(size) for prior, size in zip(gaussian, sizes, strict=True)])
        scales = torch.cat([prior.scale.expand(size) for prior, size in zip(gaussian, sizes, strict=True)])
        precision = scales.double().pow(-2).to(scales.dtype)
        constant = float(scales.double().log().sum()) + 0.5 * len(scales) * LOG_TWO_PI
        same = bool((precision == precision[0]).all())
        mean = means if means.any() else None
        return GaussianPriors(mean, None if same else precision, float(precision[0]) if same else 1.0, constant)


@dataclass(frozen=True)
class Joint:
    """What is known of all layers before they are drawn."""

    posteriors: tuple[GaussianPosterior, ...]
    sizes: list[int]
    spread: Tensor | None
    """What multiplies softplus(rho), [D]; None where that is 1 for all."""
    variance: Tensor | None
    """v, [D]; None where that is 1 for all."""
    standard_entropy: float
    """H[z]."""
    prior: GaussianPriors | None
    """None if a layer's prior is another one."""

    @staticmethod
    def of(posteriors: Sequence[GaussianPosterior], priors: Sequence[Prior]) -> Joint:
        sizes = [posterior.size for posterior in posteriors]
        spreads = [torch.ones_like(p.mean) if p.spread is None else p.spread for p in posteriors]
        variance = torch.cat([p.standard_variance() for p in posteriors]).detach()
        return Joint(
            posteriors=tuple(posteriors),
            sizes=sizes,
            spread=torch.cat(spreads).detach() if any(p.spread is not None for p in posteriors) else None,
            variance=None if bool((variance == 1).all()) else variance,
            standard_entropy=sum(p.standard_entropy() for p in posteriors),
            prior=GaussianPriors.of(priors, sizes),
        )

    def of_prior(self) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """What the cross-entropy needs for each weight: the prior's mean, v, and the prior's precision."""
        if self.prior is None:
            return None, None, None
        return self.prior.mean, self.variance, self.prior.precision

    def draw(self, samples: int, noise: Noise, mean: Tensor, rho: Tensor) -> Drawn:
        """So many draws of the weights with these means and rhos, [D], and the terms of the KL."""
        standard = mean.new_empty(samples, len(mean))
        parts = torch.split(standard, self.sizes, dim=1)
        for layer, (posterior, part) in enumerate(zip(self.posteriors, parts, strict=True)):
            posterior.standard_draws(samples, noise, layer, out=part)
        return Drawn(*_Draw.apply(self, standard, mean, rho))  # type: ignore[no-untyped-call]


class _Draw(torch.autograd.Function):
    """Weights [S, D], cross-entropy and entropy, from means and rhos [D]."""

    @staticmethod
    def forward(ctx: Any, joint: Joint, standard: Tensor, mean: Tensor, rho: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weights, scale, slope = torch.empty_like(standard), torch.empty_like(rho), torch.empty_like(rho)
        logs, squares = [], []
        vectors = (rho, scale, slope, joint.spread, mean, standard, weights, *joint.of_prior())
        for r, sigma, by_rho, spread, mu, z, w, *of_prior in _pieces(*vectors):
            _softplus(r, sigma, by_rho)
            if spread is not None:
                sigma.mul_(spread)
                by_rho.mul_(spread)
            logs.append(sigma.log().sum())
            if joint.prior is not None:
                by_mu, by_sigma = _pulls(mu, sigma, *of_prior)
                centred = mu if of_prior[0] is None else mu - of_prior[0]
                squares.append(torch.dot(centred, by_mu) + torch.dot(sigma, by_sigma))
            torch.addcmul(mu, sigma, z, out=w)
        entropy = torch.stack(logs).sum() + joint.standard_entropy
        cross_entropy = torch.zeros_like(entropy)
        if joint.prior is not None:
            cross_entropy = 0.5 * joint.prior.shared_precision * torch.stack(squares).sum() + joint.prior.constant
        ctx.joint = joint
        ctx.save_for_backward(standard, scale, slope, mean)
        return weights, cross_entropy, entropy

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, by_weights: Tensor, by_cross_entropy: Tensor, by_entropy: Tensor
    ) -> tuple[None, None, Tensor, Tensor]:
        standard, scale, slope, mean = ctx.saved_tensors
        joint: Joint = ctx.joint
        by_mean, by_rho = torch.empty_like(mean), torch.empty_like(mean)
        pull = None if joint.prior is None else _factor(by_cross_entropy * joint.prior.shared_precision)
        push = _factor(by_entropy)
        vectors = (by_weights, standard, scale, slope, mean, by_mean, by_rho, *joint.of_prior())
        for by_w, z, sigma, by_sigma_rho, mu, to_mean, to_rho, *of_prior in _pieces(*vectors):
            torch.mul(by_w[0], z[0], out=to_rho)
            for sample in range(1, len(z)):
                to_rho.addcmul_(by_w[sample], z[sample])
            total = by_w[0] if len(by_w) == 1 else by_w.sum(0)
            if pull is None:
                to_mean.copy_(total)
            else:
                by_mu, by_sigma = _pulls(mu, sigma, *of_prior)
                _add(total, by_mu, pull, to_mean)
                _add(to_rho, by_sigma, pull, to_rho)
            _add(to_rho, sigma.reciprocal(), push, to_rho)
            to_rho.mul_(by_sigma_rho)
        return None, None, by_mean, by_rho


def _pieces(*vectors: Tensor | None) -> Iterator[tuple[Any, ...]]:
    """Parts of vectors [..., D] that belong together; what is not there stays None, and on a GPU there is one part."""
    size = next(vector.shape[-1] for vector in vectors if vector is not None)
    longest = PIECE if vectors[0].device.type == "cpu" else size  # type: ignore[union-attr]
    count = -(-size // longest)
    nothing = (None,) * count
    return zip(*(nothing if each is None else torch.split(each, longest, dim=-1) for each in vectors), strict=True)


def _softplus(rho: Tensor, value: Tensor, slope: Tensor) -> None:
    """log(1 + e^rho) and its derivative e^rho / (1 + e^rho)."""
    torch.ops.aten.softplus.out(rho, out=value)
    torch.sigmoid(rho, out=slope)


def _pulls(
    mean: Tensor, scale: Tensor, prior_mean: Tensor | None, variance: Tensor | None, precision: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The cross-entropy's derivatives by mu and sigma; a precision that all weights share is left out."""
    by_mean = mean if prior_mean is None else mean - prior_mean
    by_scale = scale if variance is None else scale * variance
    return (by_mean, by_scale) if precision is None else (by_mean * precision, by_scale * precision)


def _factor(scalar: Tensor) -> Tensor | float:
    """A factor in the form that is fastest: on a GPU a look at a number would wait for all work under way."""
    return float(scalar) if scalar.device.type == "cpu" else scalar


def _add(terms: Tensor, more: Tensor, factor: Tensor | float, out: Tensor) -> None:
    """out = terms + factor more."""
    if isinstance(factor, Tensor):
        torch.addcmul(terms, more, factor, out=out)
    else:
        torch.add(terms, more, alpha=factor, out=out)
