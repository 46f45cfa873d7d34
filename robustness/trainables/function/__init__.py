"""Functions of the process that started the sweep: an arm each, passed to `robustness.sweep` in Python."""

from __future__ import annotations

from robustness.trainables.function.study import check
from robustness.trainables.function.training import train
from robustness.trainables.trainable import Trainable

TRAINABLE = Trainable(train, check=check)
