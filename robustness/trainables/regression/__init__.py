"""Regression on the UCI data sets with small Bayesian networks.

A trial's hyperparameters name the data set, and its replicate is the number of the standard split: configurations are
compared on replicate 0, the first split, and the winners are tested on the other splits.
"""

from __future__ import annotations

from robustness.trainables.regression.study import METRICS, check
from robustness.trainables.trainable import Trainable

TRAINABLE = Trainable(
    "robustness.trainables.regression.training:train",
    check=check,
    metrics=METRICS,
    may_lack_metric=True,
    needs_torch=True,
    keeps_curves=True,
)
