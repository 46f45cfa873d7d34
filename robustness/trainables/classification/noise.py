"""The weight noise of a trial, drawn from its random streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from robustness.streams import Purpose, Streams

PURPOSES: tuple[Purpose, ...] = ("weight_noise", "radius", "dropout")


@dataclass(frozen=True)
class StreamNoise:
    """Noise keyed by `indices` (such as epoch and step) and the layer: the same for every arm of a pair."""

    streams: Streams
    indices: tuple[int, ...]
    within: Literal["evaluation", "diagnostics"] | None = None
    """The purpose of draws outside training; their separate streams do not shift the training streams."""
    device: torch.device | str = "cpu"

    def generator(self, purpose: str, layer: int) -> torch.Generator:
        number = [*PURPOSES].index(purpose)  # type: ignore[arg-type]
        if self.within is not None:
            return self.streams.torch(self.within, number, *self.indices, layer, device=self.device)
        return self.streams.torch(PURPOSES[number], *self.indices, layer, device=self.device)
