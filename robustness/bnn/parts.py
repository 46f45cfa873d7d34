"""Weights and biases of consecutive layers as views of a single vector.

Slicing, reshaping and permuting a vector are cheap, but each adds a node to the autograd graph, and together they copy
the gradient several times. Here they are a single node whose gradient is written once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Layout:
    """Memory layout of a layer's weight in its vector; the bias follows it."""

    shape: tuple[int, ...]
    """Shape of the weight as the layer's operation expects it."""
    order: tuple[int, ...]
    """The weight's dimensions from the slowest to the fastest in memory."""
    outputs: int

    @cached_property
    def strides(self) -> tuple[int, ...]:
        strides, step = [0] * len(self.shape), 1
        for dimension in reversed(self.order):
            strides[dimension] = step
            step *= self.shape[dimension]
        return tuple(strides)

    @cached_property
    def weights(self) -> int:
        return math.prod(self.shape)


Parts = list[tuple[Tensor, Tensor]]
"""Weight and bias of a layer, for each draw."""


def parts(joined: Tensor, layouts: Sequence[Layout]) -> list[Parts]:
    """Split joint draws [S, D] of all layers into the weights and biases of each layer."""
    flat = _Parts.apply(joined if joined.stride(1) == 1 else joined.contiguous(), layouts)  # type: ignore[no-untyped-call]
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    return [pairs[layer :: len(layouts)] for layer in range(len(layouts))]


class _Parts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, joined: Tensor, layouts: Sequence[Layout]) -> tuple[Tensor, ...]:
        ctx.layouts, ctx.shape, ctx.like = layouts, joined.shape, joined.detach()
        ctx.set_materialize_grads(False)
        views = []
        for draw in range(len(joined)):
            place = joined.storage_offset() + draw * joined.stride(0)
            for layout in layouts:
                views.append(joined.as_strided(layout.shape, layout.strides, place))
                place += layout.weights
                views.append(joined.as_strided((layout.outputs,), (1,), place))
                place += layout.outputs
        return tuple(views)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor, None]:
        layouts = list(ctx.layouts) * ctx.shape[0]
        flat = []
        for layout, weight, bias in zip(layouts, gradients[::2], gradients[1::2], strict=True):
            flat.append(
                ctx.like.new_zeros(layout.weights) if weight is None else weight.permute(layout.order).reshape(-1)
            )
            flat.append(ctx.like.new_zeros(layout.outputs) if bias is None else bias)
        return torch.cat(flat).view(ctx.shape), None
