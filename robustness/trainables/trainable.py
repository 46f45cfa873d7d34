"""What a trainable is: the function that trains a trial, and what the rest of the project may know about it.

The simplest trainable is a function `trial -> iterator of EpochResult`, which a study names as `package.module:name`.
A `Trainable` record of the same name adds hooks, the same for built-in and for users' own trainables:

    TRAINABLE = Trainable(train, check=check, keeps_curves=True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pydantic import BaseModel

from robustness.plugins import find_object
from robustness.trial import EpochResult, Trial

if TYPE_CHECKING:
    from robustness.study.study import Study

Train: TypeAlias = Callable[[Trial], Iterator[EpochResult]]


@dataclass(frozen=True)
class Trainable:
    """A training function with its hooks."""

    train: Train | str
    """The function, or its name `package.module:function` if its module should be imported only on the worker."""
    check: Callable[[Study, bool], Study] | None = None
    """Called as `check(study, check_data)` before anything runs: returns the study with its own defaults filled in, or
    raises a `RobustnessError` of one line. It must not read data or import torch; with `check_data` it also makes sure
    that the data exists."""
    metrics: tuple[str, ...] | None = None
    """The measures that a study can be judged by; None allows any name."""
    training_options: type[BaseModel] | None = None
    """The record of the study's `training` section, for `robustness schema`."""
    needs_torch: bool = False
    """Workers import torch and set its threads before a trial's clock starts."""
    loads_task: bool = False
    """Trials load a task of `robustness.tasks`, whose arrays the executor shares between workers."""
    untrained: str | None = None
    """The trainable that scores untrained networks, so that a study can ask for `no_better_than_untrained`."""
    keeps_curves: bool = False
    """The report reads the curves that come with epochs; other trainables may send millions of values."""
    finals: str | None = None
    """The trainable of final models, which also leaves predictions for the test set; None trains them as any trial."""
    gpu_memory: Callable[[Trial], float] | None = None
    """Estimates the bytes of GPU memory that a trial needs, for `gpu: auto`; None takes a whole GPU."""

    def __call__(self, trial: Trial) -> Iterator[EpochResult]:
        """Train a trial."""
        train: Train = find_object(self.train, "trainable") if isinstance(self.train, str) else self.train
        return train(trial)
