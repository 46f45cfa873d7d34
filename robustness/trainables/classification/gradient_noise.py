"""How much the gradient of the NLL differs from one draw of the weights to the next."""

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
    """The standard deviation of d NLL / d mu over draws on one batch: the root of its variance's mean over all weights.

    Since w = mu + noise, d NLL / d mu is the gradient at the drawn weights.
    """
    variance, weights = 0.0, 0
    for number, network in enumerate(ensemble.members):
        # Welford's running mean and sum of squares: no gradient but the current one is kept.
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
    """d NLL / d w at one draw, all layers in one vector, in double precision."""
    leaves = tuple(weights.detach().requires_grad_() for weights in draw.weights)
    loss = nll(network.logits(images, Draws(leaves, dropout=draw.dropout)), labels)
    gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
    zeros = (torch.zeros_like(leaf) if g is None else g for g, leaf in zip(gradients, leaves, strict=True))
    return torch.cat([g.flatten().double() for g in zeros])
