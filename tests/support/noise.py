"""Noise for tests: generators that depend on the purpose and the layer alone."""

from __future__ import annotations

import torch


class SeededNoise:
    """The noise of one seed."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def generator(self, purpose: str, layer: int) -> torch.Generator:
        number = ("weight_noise", "radius", "dropout").index(purpose)
        return torch.Generator().manual_seed(1_000_003 * self.seed + 101 * layer + number)
