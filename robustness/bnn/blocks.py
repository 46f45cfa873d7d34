"""Layers of a network drawn together, as one vector of weights, with the terms of their KL.

A draw, the two terms of the KL and all their gradients are one node of the graph, written out by hand. Over a dozen
small layers that is several times faster than each layer's own operations; large layers are blocks of their own, so
that what is worked on stays in the processor's cache.

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
from torch.nn import functional as F

from robustness.bnn.posteriors import LOG_TWO_PI, GaussianPosterior, Noise
from robustness.bnn.priors import GaussianPrior, Prior

ENOUGH = 2**16
"""Layers are joined until they have so many weights."""


@dataclass(frozen=True)
class Drawn:
    """What is drawn of a block."""

    weights: tuple[Tensor, ...]
    """[S, D] of each layer."""
    cross_entropy: Tensor
    """To the Gaussian priors; 0 for a block with another prior."""
    entropy: Tensor


@dataclass(frozen=True)
class GaussianPriors:
    """The Gaussian priors of a block's weights."""

    mean: Tensor | None
    """m, [D]; None where all are 0."""
    precision: Tensor
    """1 / s^2, [D], or one number for all."""
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
        return GaussianPriors(means if means.any() else None, precision[0] if same else precision, constant)


@dataclass(frozen=True)
class Block:
    """Consecutive layers of a network whose weights have a distribution."""

    first: int
    """The number of its first layer."""
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
    def of(first: int, posteriors: Sequence[GaussianPosterior], priors: Sequence[Prior]) -> Block:
        sizes = [posterior.size for posterior in posteriors]
        spreads = [torch.ones_like(p.mean) if p.spread is None else p.spread for p in posteriors]
        variance = torch.cat([p.standard_variance() for p in posteriors]).detach()
        return Block(
            first=first,
            posteriors=tuple(posteriors),
            sizes=sizes,
            spread=torch.cat(spreads).detach() if any(p.spread is not None for p in posteriors) else None,
            variance=None if bool((variance == 1).all()) else variance,
            standard_entropy=sum(p.standard_entropy() for p in posteriors),
            prior=GaussianPriors.of(priors, sizes),
        )

    def draw(self, samples: int, noise: Noise) -> Drawn:
        """So many draws of the weights, and the terms of the KL."""
        draws = [p.standard_draws(samples, noise, self.first + i) for i, p in enumerate(self.posteriors)]
        leaves = (*(p.mean for p in self.posteriors), *(p.rho for p in self.posteriors))
        weights, cross_entropy, entropy = _Draw.apply(self, _joined(draws), *leaves)  # type: ignore[no-untyped-call]
        return Drawn(torch.split(weights, self.sizes, dim=1), cross_entropy, entropy)


def make_blocks(posteriors: Sequence[GaussianPosterior], priors: Sequence[Prior]) -> Iterator[Block]:
    """The layers of a network in blocks, in their order."""
    first = size = 0
    for number, posterior in enumerate(posteriors):
        size += posterior.size
        if size >= ENOUGH or number + 1 == len(posteriors):
            yield Block.of(first, posteriors[first : number + 1], priors[first : number + 1])
            first, size = number + 1, 0


class _Draw(torch.autograd.Function):
    """Weights [S, D], cross-entropy and entropy, from the layers' means and rhos."""

    @staticmethod
    def forward(ctx: Any, block: Block, standard: Tensor, *leaves: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, rho = _joined(leaves[: len(block.sizes)]), _joined(leaves[len(block.sizes) :])
        scale, slope = F.softplus(rho), rho.sigmoid()
        if block.spread is not None:
            scale.mul_(block.spread)
            slope.mul_(block.spread)
        prior = block.prior
        # d cross-entropy / d mu and d sigma.
        offset = mean if prior is None or prior.mean is None else mean - prior.mean
        spread = scale if block.variance is None else scale * block.variance
        if prior is not None and prior.precision.dim():
            offset_weighted, spread = offset * prior.precision, spread * prior.precision
        else:
            offset_weighted = offset
        entropy = scale.log().sum() + block.standard_entropy
        cross_entropy = torch.zeros_like(entropy)
        if prior is not None:
            squares = torch.dot(offset, offset_weighted) + torch.dot(scale, spread)
            cross_entropy = 0.5 * squares + prior.constant
            if not prior.precision.dim():
                cross_entropy = 0.5 * prior.precision * squares + prior.constant
        ctx.block = block
        ctx.save_for_backward(standard, scale, slope, offset_weighted, spread)
        return torch.addcmul(mean, scale, standard), cross_entropy, entropy

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, by_weights: Tensor, by_cross_entropy: Tensor, by_entropy: Tensor
    ) -> tuple[Tensor | None, ...]:
        standard, scale, slope, offset, spread = ctx.saved_tensors
        block: Block = ctx.block
        by_mean, by_scale = _over_draws(by_weights), _over_draws(by_weights * standard)
        if block.prior is not None:
            weight = by_cross_entropy if block.prior.precision.dim() else by_cross_entropy * block.prior.precision
            by_mean = torch.addcmul(by_mean, offset, weight)
            by_scale.addcmul_(spread, weight)
        by_rho = by_scale.addcdiv_(by_entropy, scale).mul_(slope)
        return None, None, *torch.split(by_mean, block.sizes), *torch.split(by_rho, block.sizes)


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """The parts beside each other, [..., D]."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=-1)


def _over_draws(values: Tensor) -> Tensor:
    """The sum over draws [S, D]; of a single one it would cost as much as of several."""
    return values[0] if len(values) == 1 else values.sum(0)
