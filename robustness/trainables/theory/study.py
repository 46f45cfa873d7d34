"""Checks of the theory studies, before anything runs and without torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from robustness.errors import MethodError, ModelError, StudyFileError, TaskError, unknown_name
from robustness.methods import read_method_options
from robustness.study.study import Study
from robustness.trainables.hyperparameters import HYPERPARAMETERS, Kind, check_hyperparameters
from robustness.trainables.theory.options import (
    BubbleOptions,
    ConvolutionOptions,
    NoiseOptions,
    NoOptions,
    PictureOptions,
)
from robustness.validation import read_options

SOAP_BUBBLE_METRIC = "ks_p_value"
"""The p-value of the Kolmogorov-Smirnov test of the radii against theory."""
GRADIENT_NOISE_METRIC = "signal_to_noise"
"""||E g|| / sqrt(E ||g - E g||^2): the norm of the mean gradient over that of its noise in a single draw."""

_LAYERS = ("convolution", "linear")
_COUNT = HYPERPARAMETERS["batch_size"]
_POSITIVE = HYPERPARAMETERS["learning_rate"]


def check_soap_bubble(study: Study, check_data: bool = True) -> Study:  # noqa: ARG001
    """Return the study with its options filled in; raises a one-line `RobustnessError` if it is invalid."""
    read_options(NoOptions, study.task, "task", TaskError)
    read_options(NoOptions, study.model, "model", ModelError)
    _check_arms(study, ("mfvi", "radial"))
    _check_space(
        study,
        {
            "layer": Kind(f"one of {', '.join(_LAYERS)}", lambda value: value in _LAYERS),
            "inputs": _COUNT,
            "outputs": _COUNT,
            "initial_rho": HYPERPARAMETERS["initial_rho"],
        },
    )
    training = read_options(BubbleOptions, study.training, "training", StudyFileError)
    return replace(study, training=training.model_dump(mode="json"))


def check_gradient_noise(study: Study, check_data: bool = True) -> Study:  # noqa: ARG001
    """Return the study with its options filled in; raises a one-line `RobustnessError` if it is invalid."""
    task = read_options(PictureOptions, study.task, "task", TaskError)
    model = read_options(ConvolutionOptions, study.model, "model", ModelError)
    training = read_options(NoiseOptions, study.training, "training", StudyFileError)
    _check_arms(study, ("mfvi", "mfvi_scaled", "radial"))
    _check_space(study, {"channels": _COUNT, "sigma": _POSITIVE})
    return replace(
        study,
        task=task.model_dump(mode="json"),
        model=model.model_dump(mode="json"),
        training=training.model_dump(mode="json"),
    )


def _check_arms(study: Study, arms: Sequence[str]) -> None:
    for arm in study.arms:
        if arm.method not in arms:
            raise MethodError(f"arms: {unknown_name('arm of this trainable', arm.method, arms)}")
        read_method_options(arm.method, arm.options)


def _check_space(study: Study, known: Mapping[str, Kind]) -> None:
    """Raise unless every configuration has exactly these hyperparameters."""
    check_hyperparameters(study.space.options, own_methods=False, known=known, needed=tuple(known))
