"""Kinds of training, a folder each: `study.py` checks a study without torch, the other modules train a trial."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from robustness.errors import StudyFileError, unknown_name
from robustness.plugins import find_object, installed, load_installed
from robustness.trainables.trainable import Trainable

TRAINABLES = {
    "classification": "robustness.trainables.classification:TRAINABLE",
    "final_classification": "robustness.trainables.classification:FINAL_TRAINABLE",
    "regression": "robustness.trainables.regression:TRAINABLE",
    "continual": "robustness.trainables.continual:TRAINABLE",
    "soap_bubble": "robustness.trainables.theory:SOAP_BUBBLE",
    "gradient_noise": "robustness.trainables.theory:GRADIENT_NOISE",
    "command": "robustness.trainables.command:TRAINABLE",
    "function": "robustness.trainables.function:TRAINABLE",
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
    """Return a built-in or installed trainable by its short name, or a user's own by `package.module:name`."""
    name = OLD_NAMES.get(name, name)
    if name in TRAINABLES or ":" in name:
        trainable = find_object(TRAINABLES.get(name, name), "trainable")
    elif name in installed("robustness.trainables"):
        trainable = load_installed("robustness.trainables", name, "trainable")
    else:
        line = unknown_name("trainable", name, (*TRAINABLES, *installed("robustness.trainables")))
        raise StudyFileError(f"trainable: {line}; write your own as package.module:function")
    if isinstance(trainable, Trainable):
        return trainable
    if not callable(trainable):
        raise StudyFileError(f"trainable: {name!r} is not callable")
    _check_signature(trainable, name)
    return Trainable(trainable)


def _check_signature(function: Callable[..., object], name: str) -> None:
    """Raise unless the function can be called with a trial alone and looks made for it."""
    wanted = "a trainable is a function of one argument, the trial, that yields EpochResults"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise StudyFileError(f"trainable: {name!r} cannot be one: {wanted}") from None
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    passes_everything_on = kinds == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]
    try:
        signature.bind("trial")
        fits = passes_everything_on or inspect.Parameter.VAR_POSITIONAL not in kinds
    except TypeError:
        fits = False
    if not fits:
        raise StudyFileError(f"trainable: {name!r} takes {signature}; {wanted}")
