"""What the theory studies may say under `task`, `model` and `training`, and in their spaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from robustness.errors import (
    MethodError,
    ModelError,
    RobustnessError,
    SearchSpaceError,
    StudyFileError,
    TaskError,
    unknown_name,
)
from robustness.methods import read_method_options
from robustness.study.study import Study
from robustness.study.validation import first_fault
from robustness.trainables.hyperparameters import Kind, check_hyperparameters


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NoOptions(_Options):
    """A section that says nothing."""


class BubbleOptions(_Options):
    """The `training` section of a soap bubble: what is drawn from each layer."""

    samples: int = Field(default=10_000, ge=2)
    """How many draws of a layer's weights are taken."""
    bins: int = Field(default=60, ge=2, le=1000)
    """How many bins the histograms have."""


class PictureOptions(_Options):
    """The `task` section of gradient noise: pictures of independent standard normal pixels, labels in turn."""

    name: Literal["gaussian_pictures"] = "gaussian_pictures"
    pictures: int = Field(default=16, ge=1)
    """The size of the one batch."""
    image_size: int = Field(default=4, ge=1)
    """Height and width; VGG-16's layers of 512 channels see 4 px when its input has 64."""
    channels: int = Field(default=3, ge=1)
    classes: int = Field(default=2, ge=2)


class ConvolutionOptions(_Options):
    """The `model` section of gradient noise: a 3 x 3 convolution between a first one and the last linear layer."""

    name: Literal["convolutions"] = "convolutions"
    further: int = Field(default=0, ge=0)
    """How many more convolutions of the same width follow the one whose gradient is measured."""


class NoiseOptions(_Options):
    """The `training` section of gradient noise."""

    samples: int = Field(default=16, ge=2)
    """Over how many draws of the weights the gradient's variance is taken."""
    grouping: Literal["layer", "tensor"] = "layer"
    """What a radial posterior normalises together: a layer's weight and bias, or each apart."""


WHOLE = Kind(
    "a whole number from 1 on", lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0
)
POSITIVE = Kind(
    "a number above 0", lambda value: isinstance(value, int | float) and not isinstance(value, bool) and value > 0
)

_Read = TypeVar("_Read", bound=BaseModel)
_ERRORS: dict[str, type[RobustnessError]] = {"task": TaskError, "model": ModelError, "training": StudyFileError}


def read_section(kind: type[_Read], data: Mapping[str, Any], section: str) -> _Read:
    """The typed section; one line that names the key if it does not fit."""
    try:
        return kind.model_validate(dict(data))
    except ValidationError as error:
        raise _ERRORS[section](f"{section}.{first_fault(error, kind, dict(data))}") from None


def check_arms(study: Study, arms: Sequence[str]) -> None:
    """Raise unless every arm is one of these methods and takes its options."""
    for arm in study.arms:
        if arm.method not in arms:
            raise MethodError(f"arms: {unknown_name('arm of this trainable', arm.method, arms)}")
        read_method_options(arm.method, arm.options)


def check_space(study: Study, known: Mapping[str, Kind]) -> None:
    """Raise unless every configuration has every one of these hyperparameters, and no others."""
    try:
        check_hyperparameters(study.space.options, own_methods=False, known=known, needed=tuple(known))
    except SearchSpaceError as error:
        raise SearchSpaceError(f"space.{error}") from None


def check_metric(study: Study, metric: str) -> None:
    """Raise unless the study judges by this measure, the only one that its trials can be judged by."""
    if study.outcomes.metric != metric:
        raise StudyFileError(f"outcomes.metric: {unknown_name('metric', study.outcomes.metric, (metric,))}")
