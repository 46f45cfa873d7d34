"""Image classification with the paper's networks: the default trainable, and the trainable of final models."""

from __future__ import annotations

from dataclasses import replace

from robustness.metrics import METRICS
from robustness.trainables.classification.gpu_memory import gpu_memory
from robustness.trainables.classification.options import TrainingOptions
from robustness.trainables.classification.study import check, settle
from robustness.trainables.trainable import Trainable

TRAINABLE = Trainable(
    "robustness.trainables.classification.training:train",
    check=check,
    settle=settle,
    metrics=tuple(METRICS),
    training_options=TrainingOptions,
    needs_torch=True,
    loads_task=True,
    untrained="robustness.trainables.classification.untrained:SCORER",
    records_start=True,
    keeps_curves=True,
    finals="final_classification",
    gpu_memory=gpu_memory,
)
FINAL_TRAINABLE = replace(TRAINABLE, train="robustness.trainables.classification.final_training:train")
