"""A command of the user's as the training of a trial: any program that takes arguments and prints its results."""

from __future__ import annotations

from robustness.trainables.command.study import check
from robustness.trainables.trainable import Trainable

TRAINABLE = Trainable("robustness.trainables.command.training:train", check=check, needs_folder=True)
