"""The sections `task`, `model` and `training` of a regression study, and its hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from robustness.errors import ModelError, StudyFileError, TaskError
from robustness.validation import read_options


class _Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TaskOptions(_Options):
    """Where the data is."""

    name: Literal["uci"] = "uci"
    folder: str = Field(min_length=1)
    """Holds NAME/data.txt for each data set."""


class ModelOptions(_Options):
    """The shape of the network."""

    name: Literal["mlp"] = "mlp"
    hidden: list[Annotated[int, Field(ge=1, le=10_000)]] = [50]
    """The width of each hidden layer. The paper has one of 50 for every set; some others take 100 for `protein`."""


class RegressionOptions(_Options):
    """How each trial is trained and evaluated; the same for every arm."""

    epochs: int = Field(default=20, ge=1)
    """How many epochs, each ending with an evaluation."""
    steps_per_epoch: int = Field(default=2000, ge=1)
    """Steps of the optimiser in an epoch. Passes over the data would give `protein` in batches of 16 two thousand times
    the steps of `boston` in batches of 1000; so each configuration has as many steps as any other."""
    evaluation_samples: int = Field(default=100, ge=1)
    """How many draws of the weights a prediction averages."""
    kl_weight: float = Field(default=1.0, ge=0)
    """The factor on the KL term of the ELBO; 1 is the ELBO itself."""
    grouping: Literal["layer", "tensor"] = "layer"
    """What a radial posterior normalises together: a layer's weight and bias, or each apart."""
    validation_share: float = Field(default=0.1, gt=0, lt=1)
    """The share of a split's training rows that is held out for validation."""
    validation_splits: Literal["every", "first"] = "every"
    """`first` holds rows out on the first split alone: on the others, which choose nothing, all rows train, and there
    are no validation measures."""
    initial_noise_scale: float = Field(default=1.0, gt=0)
    """Where a learned noise scale starts; 1 is the standard deviation of the training targets."""


class Hyperparameters(BaseModel):
    """A configuration, as this trainable reads it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_set: str
    optimizer: Literal["adam"] = "adam"
    learning_rate: float = Field(gt=0)
    batch_size: int = Field(ge=1)
    """More than there are rows is all of them."""
    variational_samples: int = Field(default=1, ge=1)
    initial_rho: float | None = Field(default=None, ge=-50, le=50)
    """Where every rho starts; an arm's own option replaces it."""
    threshold: float | None = Field(default=None, gt=0)
    """Where `mfvi_truncated` cuts its noise off, in place of its own option."""
    noise_scale: Annotated[float, Field(gt=0)] | Literal["learned"] = "learned"
    """tau of the likelihood N(f(x), tau^2): learned with the weights, or given (in standard deviations of the training
    targets), so that a space can search it."""


def read_task(data: Mapping[str, Any]) -> TaskOptions:
    return read_options(TaskOptions, data, "task", TaskError)


def read_model(data: Mapping[str, Any]) -> ModelOptions:
    return read_options(ModelOptions, data, "model", ModelError)


def read_training(data: Mapping[str, Any]) -> RegressionOptions:
    return read_options(RegressionOptions, data, "training", StudyFileError)


def read_hyperparameters(data: Mapping[str, Any]) -> Hyperparameters:
    return read_options(Hyperparameters, data, "space", StudyFileError)
