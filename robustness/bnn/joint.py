"""Joint draws of all layers of a network as one vector of weights, with the terms of their KL.

The draw, the two terms of the KL and their gradients are a single node of the autograd graph with a hand-written
backward pass. For a dozen layers this is several times faster than separate operations per layer. The vector is
processed in chunks that fit into the CPU cache.

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

CHUNK = 2**17
"""Number of weights processed at a time on a CPU."""


@dataclass(frozen=True)
class Drawn:
    """Joint draws of all layers."""

    weights: Tensor
    """[S, D]"""
    cross_entropy: Tensor
    """With respect to Gaussian priors; 0 if any prior is not Gaussian."""
    entropy: Tensor


@dataclass(frozen=True)
class GaussianPriors:
    """The Gaussian priors of all weights."""

    mean: Tensor | None
    """m, [D]; None if all are 0."""
    precision: Tensor | None
    """1 / s^2, [D]; None if it is the same for all weights."""
    shared_precision: float
    """The precision common to all weights, else 1."""
    constant: float
    """sum log s_i + D/2 log 2 pi."""

    @staticmethod
    def of(priors: Sequence[Prior], sizes: Sequence[int]) -> GaussianPriors | None:
        """Combine the priors of all layers; None if any is not Gaussian."""
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
    """Everything about the layers that does not change between draws."""

    posteriors: tuple[GaussianPosterior, ...]
    sizes: list[int]
    spread: Tensor | None
    """Factor of softplus(rho), [D]; None if it is 1 for all weights."""
    variance: Tensor | None
    """v, [D]; None if it is 1 for all weights."""
    standard_entropy: float
    """H[z]."""
    prior: GaussianPriors | None
    """None if the prior of any layer is not Gaussian."""

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

    def prior_vectors(self) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Vectors in the cross-entropy: the prior's mean, v, and the prior's precision, each [D] or None."""
        if self.prior is None:
            return None, None, None
        return self.prior.mean, self.variance, self.prior.precision

    def draw(self, samples: int, noise: Noise, mean: Tensor, rho: Tensor) -> Drawn:
        """Draw the weights `samples` times for these means and rhos, [D], and compute the terms of the KL."""
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
        vectors = (rho, scale, slope, joint.spread, mean, standard, weights, *joint.prior_vectors())
        for r, sigma, sigma_by_rho, spread, mu, z, w, *prior in _chunks(*vectors):
            _softplus(r, sigma, sigma_by_rho)
            if spread is not None:
                sigma.mul_(spread)
                sigma_by_rho.mul_(spread)
            logs.append(sigma.log().sum())
            if joint.prior is not None:
                by_mu, by_sigma = _cross_entropy_gradients(mu, sigma, *prior)
                centred = mu if prior[0] is None else mu - prior[0]
                squares.append(torch.dot(centred, by_mu) + torch.dot(sigma, by_sigma))
            torch.addcmul(mu, sigma, z, out=w)
        entropy = _sum(logs) + joint.standard_entropy
        cross_entropy = torch.zeros_like(entropy)
        if joint.prior is not None:
            cross_entropy = 0.5 * joint.prior.shared_precision * _sum(squares) + joint.prior.constant
        ctx.joint = joint
        ctx.save_for_backward(standard, scale, slope, mean)
        return weights, cross_entropy, entropy

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_weights: Tensor, grad_cross_entropy: Tensor, grad_entropy: Tensor
    ) -> tuple[None, None, Tensor, Tensor]:
        standard, scale, slope, mean = ctx.saved_tensors
        joint: Joint = ctx.joint
        grad_mean, grad_rho = torch.empty_like(mean), torch.empty_like(mean)
        prior_factor = None if joint.prior is None else _factor(grad_cross_entropy * joint.prior.shared_precision)
        entropy_factor = _factor(grad_entropy)
        vectors = (grad_weights, standard, scale, slope, mean, grad_mean, grad_rho, *joint.prior_vectors())
        for grad_w, z, sigma, sigma_by_rho, mu, mean_out, rho_out, *prior in _chunks(*vectors):
            torch.mul(grad_w[0], z[0], out=rho_out)
            for sample in range(1, len(z)):
                rho_out.addcmul_(grad_w[sample], z[sample])
            total = grad_w[0] if len(grad_w) == 1 else grad_w.sum(0)
            if prior_factor is None:
                mean_out.copy_(total)
            else:
                by_mu, by_sigma = _cross_entropy_gradients(mu, sigma, *prior)
                _add(total, by_mu, prior_factor, mean_out)
                _add(rho_out, by_sigma, prior_factor, rho_out)
            _add(rho_out, sigma.reciprocal(), entropy_factor, rho_out)
            rho_out.mul_(sigma_by_rho)
        return None, None, grad_mean, grad_rho


def _chunks(*vectors: Tensor | None) -> Iterator[tuple[Any, ...]]:
    """Corresponding chunks of vectors [..., D]; a missing vector stays None, and on a GPU there is a single chunk."""
    size = next(vector.shape[-1] for vector in vectors if vector is not None)
    longest = CHUNK if vectors[0].device.type == "cpu" else size  # type: ignore[union-attr]
    if size <= longest:
        return iter([vectors])
    count = -(-size // longest)
    missing = (None,) * count
    return zip(*(missing if each is None else torch.split(each, longest, dim=-1) for each in vectors), strict=True)


def _sum(scalars: Sequence[Tensor]) -> Tensor:
    return scalars[0] if len(scalars) == 1 else torch.stack(list(scalars)).sum()


def _softplus(rho: Tensor, value: Tensor, slope: Tensor) -> None:
    """log(1 + e^rho) and its derivative e^rho / (1 + e^rho)."""
    torch.ops.aten.softplus.out(rho, out=value)
    torch.sigmoid(rho, out=slope)


def _cross_entropy_gradients(
    mean: Tensor, scale: Tensor, prior_mean: Tensor | None, variance: Tensor | None, precision: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Gradients of the cross-entropy with respect to mu and sigma, without a precision common to all weights."""
    by_mean = mean if prior_mean is None else mean - prior_mean
    by_scale = scale if variance is None else scale * variance
    return (by_mean, by_scale) if precision is None else (by_mean * precision, by_scale * precision)


def _factor(scalar: Tensor) -> Tensor | float:
    """The scalar as a float on a CPU, which is fastest; on a GPU reading its value would force a synchronisation."""
    return float(scalar) if scalar.device.type == "cpu" else scalar


def _add(first: Tensor, second: Tensor, factor: Tensor | float, out: Tensor) -> None:
    """out = first + factor * second."""
    if isinstance(factor, Tensor):
        torch.addcmul(first, second, factor, out=out)
    else:
        torch.add(first, second, alpha=factor, out=out)
