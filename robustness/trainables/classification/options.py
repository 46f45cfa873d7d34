"""The `training` section of a study file, for the built-in trainable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from robustness.errors import StudyFileError
from robustness.validation import read_options


class TrainingOptions(BaseModel):
    """How each trial is trained and evaluated; the same for every arm."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epochs: int = Field(ge=1)
    """How many epochs a trial trains, pre-training included."""
    pretrain_epochs: int = Field(default=1, ge=0)
    """How many of them train the means alone, by the NLL; they never count for an outcome."""
    evaluation_samples: int = Field(default=16, ge=1)
    """How many draws of the weights the predictive mean on the validation set averages."""
    evaluation_batch_size: int = Field(default=256, ge=1)
    """How many images are evaluated at once; no result depends on it beyond rounding."""
    kl_weight: float = Field(default=1.0, ge=0)
    """The factor on the KL term of the ELBO; 1 is the ELBO itself, as in the paper."""
    cross_entropy: Literal["closed_form", "monte_carlo"] = "closed_form"
    """How the cross-entropy to the prior is found where a closed form exists; the paper takes the draws."""
    grouping: Literal["layer", "tensor"] = "layer"
    """What a radial posterior normalises together: a layer's weight and bias, as in the paper's text, or each apart."""
    augment: bool = True
    """Whether training images are flipped, rotated, padded and cropped at random."""
    gradient_noise_every: int = Field(default=0, ge=0)
    """Every how many epochs the spread of the NLL's gradient over draws is measured; 0 is never."""
    gradient_noise_samples: int = Field(default=16, ge=2)
    """How many draws that measurement takes."""
    checkpoint_every: int = Field(default=0, ge=0)
    """Every how many epochs a trial's state is kept, so that a resumed trial goes on from there; 0 is never."""
    device: str = "auto"
    """`auto` takes a GPU where the trial was given one; or `cpu`, `cuda`, `cuda:1`."""
    mixed_precision: bool = False
    """Forward passes in bfloat16 (the test of a final model apart): faster on GPUs that have it, less exact."""
    deterministic: bool = False
    """Refuse operations whose result may differ between runs; on a CPU every run is repeatable without it."""


def read_training(section: Mapping[str, Any], strict: bool | None = None) -> TrainingOptions:
    """Return the typed `training` section; a study file is read strictly, in which text is never a number."""
    return read_options(TrainingOptions, section, "training", StudyFileError, strict=strict)
