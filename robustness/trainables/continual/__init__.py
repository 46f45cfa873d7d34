"""Continual learning as a trainable: tasks in sequence, each with the last posterior as its prior (the paper's VCL).

A study names it as `trainable: robustness.continual:train`. Its `task` section is `TaskOptions`, its `training` section
`LearningOptions`; its model is an `mlp` with one head, or with one for each task; its arms are those in `ARMS`. The
hyperparameters are `epochs` (for each task) and those of the optimiser. One `EpochResult` comes for each task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from robustness.trial import EpochResult, Trial

if TYPE_CHECKING:
    from robustness.study.study import Study

__all__ = ["check", "train"]


def train(trial: Trial) -> Iterator[EpochResult]:
    """Learn a trial's tasks in turn; a task whose loss is not finite raises `Diverged`, with all before it yielded."""
    from robustness.trainables.continual.learning import learn

    return learn(trial)


def check(study: Study, check_data: bool = True) -> Study:
    """The study with all of its options filled in; raises a `RobustnessError` of one line if it does not fit."""
    from robustness.trainables.continual.checking import checked

    return checked(study, check_data)
