"""Kinds of training, a folder each: `study.py` checks a study without torch, the other modules train a trial."""

from __future__ import annotations

from robustness.errors import StudyFileError, unknown_name
from robustness.plugins import find_object
from robustness.trainables.trainable import Trainable

TRAINABLES = {
    "classification": "robustness.trainables.classification:TRAINABLE",
    "final_classification": "robustness.trainables.classification:FINAL_TRAINABLE",
    "regression": "robustness.trainables.regression:TRAINABLE",
    "continual": "robustness.trainables.continual:TRAINABLE",
    "soap_bubble": "robustness.trainables.theory:SOAP_BUBBLE",
    "gradient_noise": "robustness.trainables.theory:GRADIENT_NOISE",
}
"""The built-in trainables by their names in study files."""

OLD_NAMES = {
    "robustness.training:train": "classification",
    "robustness.finishing:train": "final_classification",
    "robustness.regression:train": "regression",
    "robustness.continual:train": "continual",
    "robustness.theory.soap_bubble:train": "soap_bubble",
    "robustness.theory.gradient_noise:train": "gradient_noise",
}
"""Their names in older study files, checkpoints and models."""


def find_trainable(name: str) -> Trainable:
    """Return a built-in trainable by its short name, or a user's own by `package.module:name`."""
    name = OLD_NAMES.get(name, name)
    if ":" not in name and name not in TRAINABLES:
        line = unknown_name("trainable", name, TRAINABLES)
        raise StudyFileError(f"trainable: {line}; write your own as package.module:function")
    trainable = find_object(TRAINABLES.get(name, name), "trainable")
    if isinstance(trainable, Trainable):
        return trainable
    if not callable(trainable):
        raise StudyFileError(f"trainable: {name!r} is not callable")
    return Trainable(trainable)
