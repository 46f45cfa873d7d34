"""Architectures used in the studies: VGG for images, an MLP for vectors."""

from __future__ import annotations

from collections.abc import Sequence

from robustness.bnn.network import Blueprint, Convolution, Dense, GlobalPool, Heads, Pool, Step

FULL = ((1, 2), (2, 2), (4, 3), (8, 3), (8, 3))
"""VGG-16: for each block, its width in base channels and its number of convolutions."""
SHORT = ((1, 2), (2, 2), (4, 3))
"""The first three blocks of VGG-16, for small images."""


def vgg(
    channels: int, classes: int, base_channels: int, factor: float = 1.0, blocks: Sequence[tuple[int, int]] = FULL
) -> Blueprint:
    """VGG-16 with global mean and maximum pooling in place of its fully connected layers, for images of any size.

    The paper says "global mean and average pool", which would be the same operation twice.
    """
    steps: list[Step] = []
    for width, convolutions in blocks:
        outputs = max(1, round(width * base_channels * factor))
        for _ in range(convolutions):
            steps.append(Convolution(channels, outputs))
            channels = outputs
        steps.append(Pool())
    return (*steps, GlobalPool(), Heads(2 * channels, classes))


def mlp(features: int, classes: int, hidden: Sequence[int], heads: int = 1) -> Blueprint:
    """Hidden layers with ReLUs and an output layer for each head."""
    steps: list[Step] = []
    for width in hidden:
        steps.append(Dense(features, width))
        features = width
    return (*steps, Heads(features, classes, heads))
