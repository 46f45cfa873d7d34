"""Parameters of many layers as one vector.

Operations on all weights, such as a draw or an optimiser step, are several times cheaper on one long vector than on
dozens of short ones. The parameters of the layers remain available as views of the vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Vector:
    """Parameters as views of one vector, a leaf of the autograd graph with its own gradient."""

    value: Tensor
    """[D]"""
    parameters: tuple[nn.Parameter, ...]
    places: tuple[int, ...]
    """Memory address of each parameter."""

    @staticmethod
    def join(parameters: Sequence[nn.Parameter]) -> Vector:
        value = torch.cat([parameter.detach().flatten() for parameter in parameters])
        parts = torch.split(value, [parameter.numel() for parameter in parameters])
        for parameter, part in zip(parameters, parts, strict=True):
            parameter.data = part.view_as(parameter)
        places = tuple(parameter.data_ptr() for parameter in parameters)
        return Vector(value.requires_grad_(), tuple(parameters), places)

    def intact(self) -> bool:
        """Whether the parameters are still views of the vector; moving a network to another device separates them."""
        return tuple(parameter.data_ptr() for parameter in self.parameters) == self.places

    def forget_gradients(self) -> None:
        """Set the gradients of the vector and of its parameters to None."""
        self.value.grad = None
        for parameter in self.parameters:
            parameter.grad = None

    def gather_gradients(self) -> None:
        """Add the gradients of the parameters to the gradient of the vector."""
        gradients = [parameter.grad for parameter in self.parameters]
        if all(gradient is None for gradient in gradients):
            return
        pairs = zip(self.parameters, gradients, strict=True)
        joined = torch.cat([torch.zeros_like(p).flatten() if g is None else g.flatten() for p, g in pairs])
        self.value.grad = joined if self.value.grad is None else self.value.grad + joined
