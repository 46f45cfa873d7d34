"""Linear and convolutional layers whose weights are drawn first and applied second.

A layer's weight and bias are one flat vector: the weight in the order of memory that a convolution likes best (output
channel, row, column, input channel), then the bias. Activations are one tensor for each variational sample; a tuple
of one tensor is shared by all samples, so the images are never copied.
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
"""One tensor for each variational sample, or a single one that all samples share."""

MakePosterior: TypeAlias = Callable[[Tensor, Sequence[int]], Posterior]
"""Makes a posterior from initial means [D] and the sizes of weight and bias, (D - outputs, outputs)."""


class BayesianLayer(nn.Module, ABC):
    """A layer with a posterior over its weight and bias."""

    def __init__(self, inputs: int, outputs: int, fan_in: int) -> None:
        super().__init__()
        self.inputs, self.outputs, self.fan_in = inputs, outputs, fan_in
        self.posterior: Posterior

    @property
    def weights(self) -> int:
        """How many entries of the vector are weights; the rest is the bias."""
        return self.fan_in * self.outputs

    def set_posterior(self, make: MakePosterior, generator: torch.Generator) -> None:
        """Draw the means as He et al. (2015) do, N(0, 2 / fan-in) with biases 0, and give the layer its posterior."""
        means = torch.zeros(self.weights + self.outputs)
        means[: self.weights].normal_(0.0, math.sqrt(2.0 / self.fan_in), generator=generator)
        self.posterior = make(means, (self.weights, self.outputs))

    def forward(self, activations: Activations, draws: Parts) -> list[Tensor]:
        """Apply S draws to one shared or S activations; gives S of them."""
        if len(activations) == 1:
            activations = [activations[0]] * len(draws)
        return [self.apply_draw(x, *draw) for x, draw in zip(activations, draws, strict=True)]

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """How weight and bias lie in the vector."""

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
    """A square 2-d convolution that keeps the image's size, for inputs [batch, inputs, height, width]."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 3) -> None:
        super().__init__(inputs, outputs, fan_in=inputs * kernel * kernel)
        self.kernel = kernel

    @cached_property
    def layout(self) -> Layout:
        return Layout((self.outputs, self.inputs, self.kernel, self.kernel), (0, 2, 3, 1), self.outputs)

    def apply_draw(self, inputs: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.conv2d(inputs, weight, bias, padding=self.kernel // 2)
