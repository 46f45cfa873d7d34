"""The same VGG in plain PyTorch, bayesian-torch, BLiTZ and torchbnn, each written as its documentation shows.

Each function returns a training step: forward and backward passes of `samples` draws and one step of Amsgrad.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Step: TypeAlias = Callable[[], object]
Blocks: TypeAlias = Sequence[tuple[int, int]]
"""Number of channels and of convolutions of each block."""


class VGG(nn.Module):
    """3 x 3 convolutions with ReLUs, pooling after each block, global mean and max pooling, and a linear layer."""

    def __init__(
        self, blocks: Blocks, convolution: Callable[[int, int], nn.Module], linear: Callable[[int, int], nn.Module]
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for width, count in blocks:
            for _ in range(count):
                layers += [convolution(channels, width), nn.ReLU(inplace=True)]
                channels = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.head = linear(2 * channels, 2)

    def forward(self, images: Tensor) -> Any:
        x = self.features(images)
        return self.head(torch.cat([x.mean((-2, -1)), x.amax((-2, -1))], dim=1))


def _convolution(inputs: int, outputs: int) -> nn.Module:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def _amsgrad(model: nn.Module, fused: bool = False) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=1e-4, amsgrad=True, fused=fused)


def bare_network(blocks: Blocks, device: torch.device | str) -> VGG:
    """A deterministic network of torch layers in the fastest memory format."""
    model = VGG(blocks, _convolution, nn.Linear).to(device)
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def plain(blocks: Blocks, images: Tensor, labels: Tensor) -> Step:
    """The limit: the step of a deterministic network, optimised for speed (channels last, fused optimiser)."""
    model = bare_network(blocks, images.device)
    optimizer = _amsgrad(model, fused=True)
    batch = images.contiguous(memory_format=torch.channels_last)

    def step() -> None:
        loss = F.cross_entropy(model(batch), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def bayesian_torch(blocks: Blocks, images: Tensor, labels: Tensor, samples: int) -> Step:
    """A deterministic network converted by `dnn_to_bnn`, as its README shows."""
    from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss

    model = VGG(blocks, _convolution, nn.Linear)
    dnn_to_bnn(
        model,
        {
            "prior_mu": 0.0,
            "prior_sigma": 1.0,
            "posterior_mu_init": 0.0,
            "posterior_rho_init": -6.0,
            "type": "Reparameterization",
            "moped_enable": False,
            "moped_delta": 0.5,
        },
    )
    optimizer = _amsgrad(model.to(images.device))

    def step() -> None:
        outputs, kls = [], []
        for _ in range(samples):
            outputs.append(model(images))
            kls.append(get_kl_loss(model))
        loss = F.cross_entropy(torch.stack(outputs).mean(0), labels) + torch.stack(kls).mean() / len(images)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def blitz(blocks: Blocks, images: Tensor, labels: Tensor, samples: int) -> Step:
    """BLiTZ layers with its `variational_estimator`, trained with `sample_elbo`, as its README shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from blitz.modules import BayesianConv2d, BayesianLinear
        from blitz.utils import variational_estimator

    network = variational_estimator(type("Estimated", (VGG,), {}))
    model = network(blocks, lambda i, o: BayesianConv2d(i, o, kernel_size=(3, 3), padding=1), BayesianLinear)
    optimizer = _amsgrad(model.to(images.device))
    criterion = nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        loss = model.sample_elbo(
            inputs=images, labels=labels, criterion=criterion, sample_nbr=samples, complexity_cost_weight=1 / 1000
        )
        loss.backward()
        optimizer.step()

    return step


def torchbnn(blocks: Blocks, images: Tensor, labels: Tensor, samples: int) -> Step:
    """torchbnn layers with its `BKLLoss`, as its demo shows, over `samples` forward passes."""
    import torchbnn as bnn

    model = VGG(
        blocks,
        lambda i, o: bnn.BayesConv2d(0, 1.0, i, o, 3, padding=1),
        lambda i, o: bnn.BayesLinear(prior_mu=0, prior_sigma=1.0, in_features=i, out_features=o),
    )
    optimizer = _amsgrad(model.to(images.device))
    kl_loss = bnn.BKLLoss(reduction="mean", last_layer_only=False)

    def step() -> None:
        loss = torch.zeros((), device=images.device)
        for _ in range(samples):
            loss = loss + F.cross_entropy(model(images), labels) / samples
        loss = loss + 0.01 * kl_loss(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


PEERS: dict[str, tuple[str, Callable[[Blocks, Tensor, Tensor, int], Step]]] = {
    "bayesian-torch": ("bayesian_torch", bayesian_torch),
    "BLiTZ": ("blitz", blitz),
    "torchbnn": ("torchbnn", torchbnn),
}
"""Module of each package and the function that creates its step."""
