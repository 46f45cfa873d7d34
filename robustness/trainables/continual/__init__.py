"""Continual learning: a sequence of tasks, each with the previous posterior as its prior (the paper's VCL).

The `task` section is `TaskOptions` and the `training` section `LearningOptions`; the model is an `mlp` with one shared
head or one head per task; the arms are those in `ARMS`. The hyperparameters are `epochs` (per task) and those of the
optimiser. A trial yields one `EpochResult` per task.
"""

from __future__ import annotations

from robustness.trainables.continual.study import check
from robustness.trainables.trainable import Trainable

TRAINABLE = Trainable(
    "robustness.trainables.continual.training:train", check=check, needs_torch=True, keeps_curves=True
)
