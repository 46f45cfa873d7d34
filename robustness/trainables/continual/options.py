"""The sections `task` and `training` of a continual-learning study, and the options of its arms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from robustness.errors import MethodError, ModelError, StudyFileError, TaskError, unknown_name
from robustness.trainables import models
from robustness.trainables.models import MLPOptions
from robustness.validation import StrictOptions, read_options

ARMS = ("mfvi", "radial", "radial_uncorrected")
"""A Gaussian posterior; a radial one; a radial one whose prior lacks the correction term, as in the paper."""


class TaskOptions(StrictOptions):
    """The data: the classes in order, two per task."""

    name: Literal["split_fashion_mnist"]
    folder: str | None = Field(default=None, min_length=1)
    """The folder of the four idx files, compressed or not; by default that of Debian's `dataset-fashion-mnist`."""
    checksums: bool = True
    """Whether the files must be FashionMNIST as published; false accepts any images in the same format."""
    tasks: int = Field(default=5, ge=1, le=5)
    """The number of tasks to learn."""
    validation_share: float = Field(default=0.1, gt=0, lt=1)
    """The fraction of each class's training images held out for validation, the last ones in the file."""


class LearningOptions(StrictOptions):
    """How every trial is trained and evaluated; the same for all arms."""

    evaluation_samples: int = Field(default=16, ge=1)
    """Draws of the weights that the predictive mean averages."""
    kl_weight: float = Field(default=1.0, ge=0)
    """The factor on the KL term of the ELBO; 1 is the ELBO itself, as in the paper."""
    grouping: Literal["layer", "tensor"] = "layer"
    """What a radial posterior normalises jointly: a layer's weight and bias, as in the paper's text, or each tensor."""
    checkpoint_every: int = Field(default=0, ge=0)
    """Tasks between checkpoints, from which an interrupted trial resumes; 0 saves none."""
    device: str = "auto"
    """`auto` uses a GPU if the trial has one; or `cpu`, `cuda`, `cuda:1`."""
    deterministic: bool = False
    """Refuse operations whose results may differ between runs; CPU runs are reproducible without it."""


class ArmOptions(StrictOptions):
    """The options of an arm; by default the configuration's values apply."""

    initial_rho: float | None = Field(default=None, ge=-50, le=50)
    """The initial value of every rho."""


def read_task(section: Mapping[str, Any]) -> TaskOptions:
    """Return the typed `task` section."""
    return read_options(TaskOptions, section, "task", TaskError)


def read_learning(section: Mapping[str, Any]) -> LearningOptions:
    """Return the typed `training` section."""
    return read_options(LearningOptions, section, "training", StudyFileError)


def read_arm(method: str, options: Mapping[str, Any]) -> ArmOptions:
    """Return the typed options of an arm; raises `MethodError` if there is no such method."""
    if method not in ARMS:
        raise MethodError(unknown_name("continual-learning arm", method, ARMS))
    return read_options(ArmOptions, options, f"arm {method}", MethodError)


def read_model(section: Mapping[str, Any], tasks: int) -> MLPOptions:
    """Return the typed `model` section: an MLP with one head shared by all tasks, or one head per task."""
    options = models.read_model(section)
    if not isinstance(options, MLPOptions):
        raise ModelError(f"model.name: continual learning needs 'mlp', found {section.get('name')!r}")
    if options.heads not in (1, tasks):
        raise ModelError(
            f"model.heads: must be 1 (shared by all tasks) or {tasks} (one per task), found {options.heads}"
        )
    return options
