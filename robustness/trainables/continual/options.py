"""The sections `task` and `training` of a continual-learning study, and the options of its arms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from robustness.errors import MethodError, ModelError, StudyFileError, TaskError, unknown_name
from robustness.trainables import models
from robustness.trainables.models import MLPOptions
from robustness.validation import read_options

ARMS = ("mfvi", "radial", "radial_uncorrected")
"""A Gaussian posterior; a radial one; a radial one whose prior lacks the term that the paper lacks."""


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TaskOptions(_Options):
    """The data: the classes in their order, two for each task."""

    name: Literal["split_fashion_mnist"]
    folder: str | None = Field(default=None, min_length=1)
    """Where the four idx files are, compressed or not; left out, where Debian's `dataset-fashion-mnist` puts them."""
    checksums: bool = True
    """Whether the files must be FashionMNIST as it was published; false takes any pictures in the same form."""
    tasks: int = Field(default=5, ge=1, le=5)
    """How many tasks are learned."""
    validation_share: float = Field(default=0.1, gt=0, lt=1)
    """The share of each class's training pictures that is held out, the last ones of the file."""


class LearningOptions(_Options):
    """How each trial is trained and evaluated; the same for every arm."""

    evaluation_samples: int = Field(default=16, ge=1)
    """How many draws of the weights the predictive mean averages."""
    kl_weight: float = Field(default=1.0, ge=0)
    """The factor on the KL to the prior; 1 is the ELBO itself, as in the paper."""
    grouping: Literal["layer", "tensor"] = "layer"
    """What a radial posterior normalises together: a layer's weight and bias, as in the paper's text, or each apart."""
    checkpoint_every: int = Field(default=0, ge=0)
    """Every how many tasks a trial's state is kept, so that a resumed trial goes on from there; 0 is never."""
    device: str = "auto"
    """`auto` takes a GPU where the trial was given one; or `cpu`, `cuda`, `cuda:1`."""
    deterministic: bool = False
    """Refuse operations whose result may differ between runs; on a CPU every run is repeatable without it."""


class ArmOptions(_Options):
    """The options of an arm; left out, the configuration decides."""

    initial_rho: float | None = Field(default=None, ge=-50, le=50)
    """Where every rho starts."""


def read_task(section: Mapping[str, Any]) -> TaskOptions:
    """The typed `task` section."""
    return read_options(TaskOptions, section, "task", TaskError)


def read_learning(section: Mapping[str, Any]) -> LearningOptions:
    """The typed `training` section."""
    return read_options(LearningOptions, section, "training", StudyFileError)


def read_arm(method: str, options: Mapping[str, Any]) -> ArmOptions:
    """The typed options of an arm; raises `MethodError` if there is no such method."""
    if method not in ARMS:
        raise MethodError(unknown_name("arm of continual learning", method, ARMS))
    return read_options(ArmOptions, options, f"arm {method}", MethodError)


def read_model(section: Mapping[str, Any], tasks: int) -> MLPOptions:
    """The typed `model` section: an MLP with one head that all tasks share, or one for each of the tasks."""
    options = models.read_model(section)
    if not isinstance(options, MLPOptions):
        raise ModelError(f"model.name: continual learning needs 'mlp', found {section.get('name')!r}")
    if options.heads not in (1, tasks):
        raise ModelError(
            f"model.heads: must be 1 (shared by all tasks) or {tasks} (one for each task), found {options.heads}"
        )
    return options
