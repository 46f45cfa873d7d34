"""The loss: the negative ELBO for each training example, with its three terms apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from robustness.bnn.network import Draws, Network


@dataclass(frozen=True)
class Loss:
    """The terms of total = nll + kl_weight (cross_entropy - entropy), in nats for each training example."""

    total: Tensor
    nll: Tensor
    cross_entropy: Tensor
    entropy: Tensor


def nll(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log p(label) over samples and batch, for logits [samples, batch, classes] and labels [batch]."""
    samples = len(logits)
    return F.cross_entropy(logits.flatten(0, 1), labels.repeat(samples))


def negative_elbo(
    network: Network,
    draws: Draws,
    logits: Tensor,
    labels: Tensor,
    examples: int,
    kl_weight: float = 1.0,
    estimate: Literal["closed_form", "monte_carlo"] = "closed_form",
) -> Loss:
    """The negative ELBO of a training set of so many `examples`, estimated on one batch.

    The KL is counted once, whatever the number of samples, and divided by the number of examples.
    """
    data = nll(logits, labels)
    if not network.variational:
        zero = torch.zeros_like(data)
        return Loss(data, data, zero, zero)
    cross_entropy = network.cross_entropy(draws, estimate) / examples
    entropy = (network.entropy() if draws.entropy is None else draws.entropy) / examples
    return Loss(data + kl_weight * (cross_entropy - entropy), data, cross_entropy, entropy)
