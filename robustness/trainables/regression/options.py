"""The sections `task`, `model` and `training` of a regression study, and its hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from robustness.errors import ModelError, StudyFileError, TaskError
from robustness.validation import StrictOptions, read_options


class TaskOptions(StrictOptions):
    """The location of the data."""

    name: Literal["uci"] = "uci"
    folder: str = Field(min_length=1)
    """The folder with NAME/data.txt for each data set."""


class ModelOptions(StrictOptions):
    """The shape of the network."""

    name: Literal["mlp"] = "mlp"
    hidden: list[Annotated[int, Field(ge=1, le=10_000)]] = Field(default=[50])
    """The width of each hidden layer. The paper uses one layer of 50; some others use 100 for `protein`."""


class RegressionOptions(StrictOptions):
    """How every trial is trained and evaluated; the same for all arms."""

    epochs: int = Field(default=20, ge=1)
    """Epochs of a trial, each of which ends with an evaluation."""
    steps_per_epoch: int = Field(default=2000, ge=1)
    """Optimiser steps per epoch, the same for every configuration. If an epoch were a pass over the data, `protein` in
    batches of 16 would have two thousand times as many steps as `boston` in batches of 1000."""
    evaluation_samples: int = Field(default=100, ge=1)
    """Draws of the weights that a prediction averages."""
    kl_weight: float = Field(default=1.0, ge=0)
    """The factor on the KL term of the ELBO; 1 is the ELBO itself."""
    grouping: Literal["layer", "tensor"] = "layer"
    """What a radial posterior normalises jointly: a layer's weight and bias, or each separately."""
    validation_share: float = Field(default=0.1, gt=0, lt=1)
    """The fraction of a split's training rows held out for validation."""
    validation_splits: Literal["every", "first"] = "every"
    """`first` holds out rows only on the first split. The other splits select nothing, so they train on all rows and
    have no validation measures."""
    initial_noise_scale: float = Field(default=1.0, gt=0)
    """The initial value of a learned noise scale; 1 is the standard deviation of the training targets."""


class Hyperparameters(BaseModel):
    """A configuration of a regression study."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_set: str
    optimizer: Literal["adam"] = "adam"
    learning_rate: float = Field(gt=0)
    batch_size: int = Field(ge=1)
    """Limited to the number of training rows."""
    variational_samples: int = Field(default=1, ge=1)
    initial_rho: float | None = Field(default=None, ge=-50, le=50)
    """The initial value of every rho; an arm's option takes precedence."""
    threshold: float | None = Field(default=None, gt=0)
    """Where `mfvi_truncated` truncates its noise; takes precedence over the arm's option."""
    noise_scale: Annotated[float, Field(gt=0)] | Literal["learned"] = "learned"
    """tau of the likelihood N(f(x), tau^2): learned with the weights, or a fixed number (in standard deviations of the
    training targets) that a space can search."""


def read_task(data: Mapping[str, Any]) -> TaskOptions:
    return read_options(TaskOptions, data, "task", TaskError)


def read_model(data: Mapping[str, Any]) -> ModelOptions:
    return read_options(ModelOptions, data, "model", ModelError)


def read_training(data: Mapping[str, Any]) -> RegressionOptions:
    return read_options(RegressionOptions, data, "training", StudyFileError)


def read_hyperparameters(data: Mapping[str, Any]) -> Hyperparameters:
    return read_options(Hyperparameters, data, "space", StudyFileError)
