"""Random streams, keyed by purpose and never by arm, so an extra draw in one arm does not shift another arm's numbers.

A stream's key is (study seed, configuration, replicate, purpose, further integers such as epoch, step and layer), and
the label of the task in a study with `tasks`. The seed is a hash of the key: streams with different keys are
independent, and the same key always yields the same numbers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robustness.trial import Purpose as Purpose

if TYPE_CHECKING:
    import torch

    from robustness.trial import Trial

NO_REPLICATE = -1
"""The replicate in the streams of untrained networks, which no trial has."""


@dataclass(frozen=True)
class Streams:
    """The random streams of one configuration and replicate of a study."""

    seed: int
    configuration: int
    replicate: int = 0
    task: str = ""
    """The label of the task; empty in a study with a single one."""
    varied: Purpose | None = None
    """The stream that alone is of this replicate, while the others are of the first; None if all are of this one."""

    @staticmethod
    def of(trial: Trial) -> Streams:
        return Streams(trial.seed, trial.configuration, trial.replicate, trial.task_label, trial.varied)

    def key(self, purpose: Purpose, *indices: int) -> int:
        """63-bit seed of the stream with this purpose and these indices."""
        replicate = self.replicate if self.varied in (None, purpose) else 0
        task = (f"task {self.task}",) if self.task else ()
        text = "/".join(map(str, (self.seed, self.configuration, replicate, *task, purpose, *indices)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1

    def external_seed(self) -> int:
        """A 31-bit seed for code that seeds its own generators: the same for all arms of a pair."""
        return self.key("external") >> 32

    def torch(self, purpose: Purpose, *indices: int, device: str | torch.device = "cpu") -> torch.Generator:
        """A torch generator at the start of the stream."""
        import torch  # here, so that planning a study does not load torch

        generator = torch.Generator(device=device)
        generator.manual_seed(self.key(purpose, *indices))
        return generator

    def numpy(self, purpose: Purpose, *indices: int) -> np.random.Generator:
        """A numpy generator at the start of the stream."""
        return np.random.default_rng(self.key(purpose, *indices))
