"""Regression on the UCI data sets by small Bayesian networks: a trainable of its own, `robustness.regression:train`.

A trial's hyperparameters name the data set, its replicate is the number of the standard split: replicate 0 is the first
split, on which configurations are compared, and the others show how the chosen ones do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robustness.study.study import Study
    from robustness.trial import EpochResult, Trial

__all__ = ["check", "train"]


def train(trial: Trial) -> Iterator[EpochResult]:
    """Train a trial; see `robustness.trainables.regression.training.train`."""
    from robustness.trainables.regression.training import train

    return train(trial)


def check(study: Study, check_data: bool = True) -> Study:
    """The study with all of its options filled in; raises a `RobustnessError` of one line if it does not fit."""
    from robustness.trainables.regression.checking import checked

    return checked(study, check_data)
