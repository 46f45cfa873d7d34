"""What crosses to a worker (`Trial`) and what comes back (`EpochResult`): plain records, no torch, Ray or SQL.

A trainable is any function `trial -> iterator of EpochResult`; see `robustness.trainables`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

DEFAULT_TRAINABLE = "classification"
"""The trainable of a study that names none."""

Status: TypeAlias = Literal[
    "planned", "running", "finished", "diverged", "out_of_memory", "timed_out", "failed", "pruned"
]
"""`planned` and `running` trials are still to do; the others have ended and never run again by themselves."""

Stage: TypeAlias = Literal["sweep", "search", "final"]
"""What a trial belongs to: a sweep, the search of an optimised study, or the final models of its best runs."""

PENDING: tuple[Status, ...] = ("planned", "running")
"""Trials still to do; after a crash of the driver a `running` one starts again."""
COUNTED: tuple[Status, ...] = ("finished", "diverged")
"""Trials that count towards the fractions."""
NO_RESULT: tuple[Status, ...] = ("failed", "timed_out", "out_of_memory")
"""Trials that ended without a result: excluded from the fractions; `--retry` reruns them."""
ENDED: tuple[Status, ...] = (*COUNTED, *NO_RESULT, "pruned")


class TrialKey(NamedTuple):
    """Which trial of a study: unique, ordered, and printed as `3/radial` or, for a later replicate, `3/radial/1`."""

    configuration: int
    arm: str
    replicate: int = 0

    def __str__(self) -> str:
        return f"{self.configuration}/{self.arm}" + (f"/{self.replicate}" if self.replicate else "")


@dataclass(frozen=True)
class Trial:
    """One training run: everything a worker needs, all of it picklable and small."""

    study: str
    seed: int
    """The study's seed, from which every random stream is derived."""
    configuration: int
    arm: str
    """The arm's label in the study: never part of a random stream's key."""
    replicate: int = 0
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    """The drawn configuration: `{"optimizer": "sgd", "learning_rate": 0.01, ...}`."""
    method: str = ""
    """The method behind the arm (`mfvi`, `radial`, or `package.module:name`)."""
    method_options: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)
    """`{"name": "synthetic_fundus", **options}`, as in the study file."""
    model: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    metric: str = "validation_auc"
    """The measure by which the study judges an epoch; higher is better."""
    trainable: str = DEFAULT_TRAINABLE
    checkpoint: str | None = None
    """A file in which the trainable keeps its state between epochs, and from which it goes on if the file exists."""
    stage: Stage = "sweep"
    run: int | None = None
    """The run of the arm's search, counted from 0: the trial's own, or the one that its final model is made of."""

    @property
    def key(self) -> TrialKey:
        return TrialKey(self.configuration, self.arm, self.replicate)


@dataclass(frozen=True)
class EpochResult:
    """What one epoch of a trial showed."""

    epoch: int
    """Counted from 1, pre-training included."""
    measures: Mapping[str, float]
    """`validation_auc`, `nll`, `train_auc`, ... whatever the trainable measures; a NaN is kept as it is."""
    pretraining: bool = False
    """A pre-training epoch is the same for every arm and never counts for an outcome."""
    seconds: float = 0.0
    """Wall time of the epoch, training and evaluation together."""
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Series within the epoch (say, the loss of each step), kept as they come."""
