"""Ensembles of networks that are trained in parallel and predict jointly; a single network is an ensemble of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from robustness.bnn.network import Draws, Network
from robustness.bnn.posteriors import Noise

LAYERS_APART = 10_000
"""Offset of the layer number from one member to the next, so that no two members share a random stream."""


@dataclass(frozen=True)
class MemberNoise:
    """The noise of one member of an ensemble; the first member's is the same as for a single network."""

    noise: Noise
    member: int

    def generator(self, purpose: str, layer: int) -> torch.Generator:
        return self.noise.generator(purpose, layer + self.member * LAYERS_APART)


class Ensemble(nn.Module):
    """One or more networks with the interface of a network; the samples of all members are concatenated."""

    def __init__(self, members: Sequence[Network]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(members)

    @property
    def members(self) -> Sequence[Network]:
        return self.networks  # type: ignore[return-value]

    @property
    def variational(self) -> bool:
        return self.members[0].variational

    @property
    def random(self) -> bool:
        return self.members[0].random

    def means(self) -> tuple[Draws, ...]:
        """The means of each member as a single draw."""
        return tuple(member.means() for member in self.members)

    def sample(self, samples: int, noise: Noise) -> tuple[Draws, ...]:
        """Draw `samples` times from each member; a deterministic member is drawn once."""
        return tuple(
            member.sample(samples if member.random else 1, MemberNoise(noise, index))
            for index, member in enumerate(self.members)
        )

    def logits(self, images: Tensor, draws: Sequence[Draws], head: int = 0) -> Tensor:
        """Logits [members x samples, batch, classes]."""
        return torch.cat([member.logits(images, draw, head) for member, draw in zip(self.members, draws, strict=True)])

    def entropy(self) -> Tensor:
        return torch.stack([member.entropy() for member in self.members]).sum()
