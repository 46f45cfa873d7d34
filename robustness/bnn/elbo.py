"""The loss: the negative ELBO per training example and its three terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from robustness.bnn.network import Draws, Network


@dataclass(frozen=True)
class Loss:
    """total = nll + kl_weight (cross_entropy - entropy), in nats per training example."""

    total: Tensor
    nll: Tensor
    cross_entropy: Tensor
    entropy: Tensor


def nll(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean of -log p(label) over samples and batch, for logits [samples, batch, classes] and labels [batch]."""
    samples = len(logits)
    return F.cross_entropy(logits.flatten(0, 1), labels.repeat(samples))


def nll_of_draws(network: Network, draws: Draws, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the NLL of a batch and the detached logits [samples, batch, classes].

    The forward pass is in the dtype of the images, everything else in that of the draws. bfloat16 has the range of
    float32, so gradients need no scaling. Several draws are passed forward and backward one at a time, so that only the
    activations of one are in memory; the result carries the accumulated gradient.
    """
    joined = draws.joined
    if draws.samples == 1 or joined is None or not joined.requires_grad:
        logits = network.logits(images, draws).float()
        return nll(logits, labels), logits.detach()
    all_logits, values, gradient = [], [], torch.empty_like(joined)
    for sample in range(draws.samples):
        row = joined[sample : sample + 1].detach().requires_grad_()
        single = replace(draws, weights=torch.split(row, [each.shape[1] for each in draws.weights], dim=1), joined=row)
        logits = network.logits(images, single).float()
        value = nll(logits, labels) / draws.samples
        gradient[sample] = torch.autograd.grad(value, row)[0][0]
        values.append(value.detach())
        all_logits.append(logits.detach())
    value = _WithGradient.apply(joined, torch.stack(values).sum(), gradient)  # type: ignore[no-untyped-call]
    return value, torch.cat(all_logits)


class _WithGradient(torch.autograd.Function):
    """A scalar function of a vector whose gradient is already known."""

    @staticmethod
    def forward(ctx: Any, vector: Tensor, value: Tensor, gradient: Tensor) -> Tensor:  # noqa: ARG004
        ctx.save_for_backward(gradient)
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * grad_output, None, None


def negative_elbo(
    network: Network,
    draws: Draws,
    data: Tensor,
    examples: int,
    kl_weight: float = 1.0,
    estimate: Literal["closed_form", "monte_carlo"] = "closed_form",
) -> Loss:
    """Negative ELBO for a training set of `examples` examples, from the NLL `data` of one batch under the draws.

    The KL is counted once, regardless of the number of samples, and divided by the number of examples.
    """
    if not network.variational:
        zero = torch.zeros_like(data)
        return Loss(data, data, zero, zero)
    cross_entropy = network.cross_entropy(draws, estimate) / examples
    entropy = (network.entropy() if draws.entropy is None else draws.entropy) / examples
    return Loss(data + kl_weight * (cross_entropy - entropy), data, cross_entropy, entropy)
