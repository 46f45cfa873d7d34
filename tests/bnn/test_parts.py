"""Weights and biases as views of one vector match the values and gradients of slicing and permuting."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from robustness.bnn.layers import BayesianConvolution, BayesianLayer, BayesianLinear
from robustness.bnn.parts import parts

LAYERS: tuple[BayesianLayer, ...] = (BayesianConvolution(3, 4), BayesianConvolution(1, 2), BayesianLinear(5, 3))
SIZES = [layer.weights + layer.outputs for layer in LAYERS]


def sliced(joined: Tensor) -> list[list[tuple[Tensor, Tensor]]]:
    """The same split with PyTorch operations."""
    layers = []
    for layer, vectors in zip(LAYERS, torch.split(joined, SIZES, dim=1), strict=True):
        pairs = []
        for vector in vectors.unbind():
            weight, bias = torch.split(vector, [layer.weights, layer.outputs])
            if isinstance(layer, BayesianConvolution):
                shaped = weight.view(layer.outputs, 3, 3, layer.inputs).permute(0, 3, 1, 2)
            else:
                shaped = weight.view(layer.outputs, layer.inputs)
            pairs.append((shaped, bias))
        layers.append(pairs)
    return layers


def loss(layers: list[list[tuple[Tensor, Tensor]]], leave_out: int = -1) -> Tensor:
    tensors = [tensor for pairs in layers for pair in pairs for tensor in pair]
    terms = [(index + 1) * (tensor**2).sum() for index, tensor in enumerate(tensors) if index != leave_out]
    return torch.stack(terms).sum()


@pytest.mark.parametrize("leave_out", [-1, 0, 5])
@pytest.mark.parametrize("samples", [1, 3])
def test_values_and_gradients_match_those_of_slices(samples: int, leave_out: int) -> None:
    joined = torch.randn(samples, sum(SIZES), dtype=torch.float64, requires_grad=True)
    ours, theirs = parts(joined, [layer.layout for layer in LAYERS]), sliced(joined)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)
    (actual,) = torch.autograd.grad(loss(ours, leave_out), joined)
    (expected,) = torch.autograd.grad(loss(theirs, leave_out), joined)
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize(
    "make", [lambda x: x.expand(3, -1), lambda x: x.repeat(3, 2)[:, ::2], lambda x: x.repeat(4, 1)[1:]]
)
def test_draws_may_have_any_strides_and_offset(make: Callable[[Tensor], Tensor]) -> None:
    vector = torch.randn(1, sum(SIZES), requires_grad=True)
    draws = make(vector)
    ours, theirs = parts(draws, [layer.layout for layer in LAYERS]), sliced(draws.contiguous())
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)
    (actual,) = torch.autograd.grad(loss(ours), vector)
    (expected,) = torch.autograd.grad(loss(theirs), vector)
    torch.testing.assert_close(actual, expected)


def test_the_weight_of_a_convolution_is_channels_last() -> None:
    ((weight, _),) = parts(torch.randn(1, SIZES[0]), [LAYERS[0].layout])[0]
    assert weight.is_contiguous(memory_format=torch.channels_last)
