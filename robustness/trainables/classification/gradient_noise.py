"""How much the gradient of the NLL varies between draws of the weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from robustness.bnn.elbo import nll
from robustness.bnn.ensemble import Ensemble
from robustness.bnn.network import Draws, Network
from robustness.bnn.posteriors import Noise


def gradient_sd(
    ensemble: Ensemble, images: Tensor, labels: Tensor, samples: int, noise_of_sample: Callable[[int], Noise]
) -> float:
    """Return the standard deviation of d NLL / d mu over draws on one batch: sqrt of its mean variance over weights.

    Since w = mu + noise, d NLL / d mu is the gradient at the drawn weights.
    """
    variance, weights = 0.0, 0
    for number, network in enumerate(ensemble.members):
        # Welford's running mean and sum of squares, so that only the current gradient is in memory.
        mean = squares = torch.zeros(())
        for sample in range(samples):
            draw = ensemble.sample(1, noise_of_sample(sample))[number]
            gradient = _gradient(network, draw, images, labels)
            change = gradient - mean
            mean = mean + change / (sample + 1)
            squares = squares + change * (gradient - mean)
        variance += float(squares.sum()) / (samples - 1)
        weights += len(squares)
    return math.sqrt(variance / weights)


def _gradient(network: Network, draw: Draws, images: Tensor, labels: Tensor) -> Tensor:
    """Return d NLL / d w at one draw, with all layers in one vector, in double precision."""
    leaves = tuple(weights.detach().requires_grad_() for weights in draw.weights)
    loss = nll(network.logits(images, Draws(leaves, dropout=draw.dropout)), labels)
    gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
    zeros = (torch.zeros_like(leaf) if g is None else g for g, leaf in zip(gradients, leaves, strict=True))
    return torch.cat([g.flatten().double() for g in zeros])
