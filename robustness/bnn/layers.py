"""Linear and convolutional layers whose weights are drawn first and applied later.

A layer's weight and bias form one flat vector: the weight in the fastest memory layout for convolutions (output
channel, row, column, input channel), then the bias. Activations have one tensor per variational sample; a single tensor
is shared by all samples, so images are never copied.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from robustness.bnn.parts import Layout, Parts
from robustness.bnn.posteriors import Posterior

Activations: TypeAlias = Sequence[Tensor]
"""One tensor per variational sample, or a single one shared by all samples."""

MakePosterior: TypeAlias = Callable[[Tensor, Sequence[int]], Posterior]
"""Creates a posterior from initial means [D] and the sizes of weight and bias, (D - outputs, outputs)."""


class BayesianLayer(nn.Module, ABC):
    """A layer with a posterior over its weight and bias."""

    def __init__(self, inputs: int, outputs: int, fan_in: int) -> None:
        super().__init__()
        self.inputs, self.outputs, self.fan_in = inputs, outputs, fan_in
        self.posterior: Posterior

    @property
    def weights(self) -> int:
        """Number of entries of the vector that are weights; the rest is the bias."""
        return self.fan_in * self.outputs

    def set_posterior(self, make: MakePosterior, generator: torch.Generator) -> None:
        """Create the posterior with He initialisation (2015) of its means: N(0, 2 / fan-in), biases 0."""
        means = torch.zeros(self.weights + self.outputs)
        means[: self.weights].normal_(0.0, math.sqrt(2.0 / self.fan_in), generator=generator)
        self.posterior = make(means, (self.weights, self.outputs))

    def forward(self, activations: Activations, draws: Parts) -> list[Tensor]:
        """Apply S draws to S activations or to a shared one; returns S activations."""
        if len(activations) == 1:
            activations = [activations[0]] * len(draws)
        return [self.apply_draw(x, *draw) for x, draw in zip(activations, draws, strict=True)]

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """Layout of weight and bias in the vector."""

    @abstractmethod
    def apply_draw(self, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Apply one draw to a batch."""


class BayesianLinear(BayesianLayer):
    """y = W x + b for inputs [batch, inputs]."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, fan_in=inputs)

    @cached_property
    def layout(self) -> Layout:
        return Layout((self.outputs, self.inputs), (0, 1), self.outputs)

    def apply_draw(self, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.linear(inputs, weight, bias)


class BayesianConvolution(BayesianLayer):
    """A square 2-d convolution that preserves the image size, for inputs [batch, inputs, height, width]."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3) -> None:
        super().__init__(inputs, outputs, fan_in=inputs * kernel * kernel)
        self.kernel = kernel

    @cached_property
    def layout(self) -> Layout:
        return Layout((self.outputs, self.inputs, self.kernel, self.kernel), (0, 2, 3, 1), self.outputs)

    def apply_draw(self, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv2d(inputs, weight, bias, padding=self.kernel // 2)
