"""The record of a trainable: the function that trains a trial, and hooks for the rest of the project.

The simplest trainable is a function `trial -> iterator of EpochResult`, which a study refers to as
`package.module:name`. That name can also be a `Trainable` record, which adds the hooks of built-in trainables:

    TRAINABLE = Trainable(train, check=check, keeps_curves=True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

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
    """The function, or `package.module:function` if only workers should import its module."""
    check: Callable[[Study, bool], Study] | None = None
    """Called as `check(study, check_data)` before anything runs: returns the study with the trainable's defaults filled
    in, or raises a one-line `RobustnessError`. It must not read data or import torch; with `check_data` it also checks
    that the data exists."""
    settle: Callable[[Study, Mapping[str, Any] | None, bool], Study] | None = None
    """Called as `settle(study, registered, here)` before trials are registered: returns the study with the choices that
    depend on the machine made, such as `precision: auto`, or raises a one-line `RobustnessError` if trials cannot run
    on it. `registered` is the document of the study in the store, whose choices stay; None for a new one. `here` tells
    whether trials run on this machine."""
    metrics: tuple[str, ...] | None = None
    """The measures that can be a study's metric; None allows any name."""
    training_options: type[BaseModel] | None = None
    """The record of the study's `training` section, for `robustness schema`."""
    may_lack_metric: bool = False
    """Trials may finish without the study's metric, such as a data split without validation rows. By default a trial
    that never reports the metric after pre-training fails."""
    needs_torch: bool = False
    """Workers import torch and set its threads before a trial's clock starts."""
    needs_folder: bool = False
    """Each trial gets a folder, `trial.folder`, beside the store; what is in it stays after the trial."""
    loads_task: bool = False
    """Trials load a task from `robustness.tasks`, whose arrays the executor shares between workers."""
    untrained: str | None = None
    """The trainable that scores untrained networks, which `no_better_than_untrained` requires. Its trials have a list
    `networks` among their hyperparameters and yield one `EpochResult`, whose curves hold two evaluations of the metric
    for each network, named by its place: "0", "1", ..."""
    records_start: bool = False
    """What `no_better_than_start` requires: a trial with `records_start` yields its untrained network's evaluation as
    epoch 0, marked as pre-training; and with a number of `resamples` among its hyperparameters `untrained` also yields
    the metric of each network on so many resamples of the patients, as the curves "resampled 0", "resampled 1", ..."""
    keeps_curves: bool = False
    """The report reads the epochs' curves. Off by default, since a trainable may send millions of values."""
    finals: str | None = None
    """The trainable of final models, which also saves test predictions; None trains them like any other trial."""
    gpu_memory: Callable[[Trial], float] | None = None
    """Estimates the bytes of GPU memory that a trial needs, for `gpu: auto`; None means a whole GPU."""

    def __call__(self, trial: Trial) -> Iterator[EpochResult]:
        """Train a trial."""
        train: Train = find_object(self.train, "trainable") if isinstance(self.train, str) else self.train
        return train(trial)
