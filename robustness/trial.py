"""What is sent to a worker (`Trial`) and what comes back (`EpochResult`): plain records without torch, Ray or SQL.

A trainable is a function `trial -> iterator of EpochResult`; see `robustness.trainables`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from robustness.goal import GoalName

DEFAULT_TRAINABLE = "classification"
"""The trainable of a study that names none."""
FUNCTION = "function"
"""The trainable of studies made of functions of the process that sweeps, by `robustness.sweep`."""
IMPORTED = "imported"
"""The trainable of studies whose runs were made elsewhere."""

Status: TypeAlias = Literal[
    "planned", "running", "finished", "diverged", "out_of_memory", "timed_out", "failed", "pruned"
]
"""`planned` and `running` trials are still to do; the others have ended and are rerun only on request."""

Stage: TypeAlias = Literal["sweep", "default", "search", "final"]
"""What a trial belongs to: a sweep, the default configuration that a sweep names beside its draws, the search of an
optimised study, or the final models of its best runs."""

Purpose: TypeAlias = Literal[
    "initialisation",
    "data_order",
    "augmentation",
    "weight_noise",
    "radius",
    "dropout",
    "evaluation",
    "diagnostics",
    "external",
]
"""What a random stream is for (`robustness.streams`)."""

PENDING: tuple[Status, ...] = ("planned", "running")
"""Trials still to do; a `running` trial starts again after a crash of the driver."""
COUNTED: tuple[Status, ...] = ("finished", "diverged")
"""Trials that count towards the fractions."""
NO_RESULT: tuple[Status, ...] = ("failed", "timed_out", "out_of_memory")
"""Trials that ended without a result: excluded from the fractions; `--retry` reruns them."""
ENDED: tuple[Status, ...] = (*COUNTED, *NO_RESULT, "pruned")


LARGEST = 1e60
"""Larger numbers count as infinite: statistics of them, such as the fourth power of a difference, would overflow."""

SEARCH_BLOCK = 1_000_000
"""Each search of an optimised study numbers its configurations in its own block: search k, from 0, from k * this on.

Random streams are keyed by the number of the configuration, so every search has its own, and the first search is the
same whether or not others follow."""

DEFAULT_CONFIGURATION = SEARCH_BLOCK - 1
"""The number of a sweep's default configuration, above that of any draw, so that further draws leave it as it is."""


class TrialKey(NamedTuple):
    """Identifies a trial within its study; printed as `3/radial` or, for a later replicate, `3/radial/1`.

    In a study with `tasks` the task follows: `3/radial/1@cifar`.
    """

    configuration: int
    arm: str
    replicate: int = 0
    task: str = ""
    """The label of the task; empty in a study with a single `task`."""

    @property
    def search(self) -> int:
        """The search, from 0, of a trial of an optimised study."""
        return self.configuration // SEARCH_BLOCK

    @property
    def of_default(self) -> bool:
        """Whether it is a trial of a sweep's default configuration, which is no draw from the space."""
        return self.configuration == DEFAULT_CONFIGURATION

    def __str__(self) -> str:
        replicate, task = f"/{self.replicate}" if self.replicate else "", f"@{self.task}" if self.task else ""
        return f"{self.configuration}/{self.arm}{replicate}{task}"


@dataclass(frozen=True)
class Trial:
    """One training run: everything a worker needs, picklable and small."""

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
    """The measure that the study judges an epoch by."""
    trainable: str = DEFAULT_TRAINABLE
    checkpoint: str | None = None
    """A file for the trainable's state between epochs; training resumes from it if it exists."""
    folder: str | None = None
    """A folder of the trial's own, for a trainable that asks for one; None if it has none."""
    timeout: float | None = None
    """Seconds that an attempt may take, set by the executor, which ends the trial if it takes longer."""
    stage: Stage = "sweep"
    run: int | None = None
    """The run of the arm's search, from 0: the trial's own, or the one whose configuration the final model has."""
    records_start: bool = False
    """Whether the untrained network is evaluated, too, as epoch 0: where the study judges a trial by its gain."""
    goal: GoalName = "maximize"
    """Whether the metric is maximised or minimised."""
    task_label: str = ""
    """The label of the task in a study with `tasks`, part of every random stream's key; else empty."""
    varied: Purpose | None = None
    """The random stream that alone differs from the first replicate; None if all of them do."""
    own: tuple[str, ...] = ()
    """The hyperparameters that were drawn from the arm's own space."""

    @property
    def key(self) -> TrialKey:
        return TrialKey(self.configuration, self.arm, self.replicate, self.task_label)

    def report(self, epoch: int, **measures: float) -> None:
        """Record the measures of an epoch, from code that cannot yield them; outside a sweep it does nothing."""
        if _collectors:
            _collectors[-1](EpochResult(epoch, measures))


_collectors: list[Callable[[EpochResult], None]] = []
"""Where `Trial.report` goes; a process runs one trial at a time, in whose threads any code may report."""


@contextmanager
def collecting(collector: Callable[[EpochResult], None], fallback: bool = False) -> Iterator[None]:
    """Send what the running trial reports to the collector within the block; as a `fallback`, if there is no other."""
    _collectors.insert(0 if fallback else len(_collectors), collector)
    try:
        yield
    finally:
        _collectors.remove(collector)


@dataclass(frozen=True)
class EpochResult:
    """The measurements of one epoch of a trial."""

    epoch: int
    """Counted from 1, pre-training included; 0 is the untrained network, which counts as pre-training."""
    measures: Mapping[str, float]
    """Whatever the trainable measures: `validation_auc`, `nll`, `train_auc`, ...; NaN is stored as NaN."""
    pretraining: bool = False
    """Pre-training epochs are the same for every arm and never count towards an outcome."""
    seconds: float = 0.0
    """Wall time of the epoch, training and evaluation together."""
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Series within the epoch, such as the loss of each step, stored unchanged."""
