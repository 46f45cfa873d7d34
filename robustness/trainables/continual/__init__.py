"""Continual learning: tasks in sequence, each with the last posterior as its prior (the paper's VCL).

The `task` section is `TaskOptions`, the `training` section `LearningOptions`; the model is an `mlp` with one head, or
with one for each task; the arms are those in `ARMS`. The hyperparameters are `epochs` (for each task) and those of the
optimiser. A trial yields one `EpochResult` for each task.
"""

from __future__ import annotations

from robustness.trainables.continual.study import check
from robustness.trainables.trainable import Trainable

TRAINABLE = Trainable(
    "robustness.trainables.continual.training:train", check=check, needs_torch=True, keeps_curves=True
)
