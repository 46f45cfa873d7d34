"""The weight noise of a trial, drawn from its random streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from robustness.streams import Purpose, Streams

PURPOSES: tuple[Purpose, ...] = ("weight_noise", "radius", "dropout")


@dataclass(frozen=True)
class StreamNoise:
    """Noise keyed by `indices` (epoch and step, say) and the layer: the same for every arm of a pair."""

    streams: Streams
    indices: tuple[int, ...]
    within: Literal["evaluation", "diagnostics"] | None = None
    """The purpose that the draws serve where it is not training: streams of their own, which shift no others."""
    device: torch.device | str = "cpu"

    def generator(self, purpose: str, layer: int) -> torch.Generator:
        number = [*PURPOSES].index(purpose)  # type: ignore[arg-type]
        if self.within is not None:
            return self.streams.torch(self.within, number, *self.indices, layer, device=self.device)
        return self.streams.torch(PURPOSES[number], *self.indices, layer, device=self.device)
