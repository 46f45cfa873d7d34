"""The `training` section of a classification study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from robustness.errors import StudyFileError, shown
from robustness.trainables.precision import Precision
from robustness.validation import read_options


class TrainingOptions(BaseModel):
    """How every trial is trained and evaluated; the same for all arms."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epochs: int = Field(ge=1)
    """Epochs of a trial, including pre-training."""
    pretrain_epochs: int = Field(default=1, ge=0)
    """Initial epochs that train only the means, on the NLL; they never count towards an outcome."""
    evaluation_samples: int = Field(default=16, ge=1)
    """Draws of the weights that the predictive mean on the validation set averages."""
    evaluate_every: int = Field(default=1, ge=1)
    """Epochs between evaluations on the validation set; the last epoch is always evaluated. Evaluated epochs have the
    same results whatever its value; the others have none of the validation set, so the best epoch is one of fewer."""
    last_epoch_samples: int | None = Field(default=None, ge=1)
    """Draws at the last of `epochs` instead, on the validation set and, without augmentation, on the training set:
    `training_nll`, `training_auc` and the like are then measured there."""
    evaluation_batch_size: int = Field(default=256, ge=1)
    """Images evaluated at a time; affects results only by rounding."""
    kl_weight: float = Field(default=1.0, ge=0)
    """The factor on the KL term of the ELBO; 1 is the ELBO itself, as in the paper."""
    cross_entropy: Literal["closed_form", "monte_carlo"] = "closed_form"
    """How the cross-entropy to the prior is computed where a closed form exists; the paper uses Monte Carlo."""
    grouping: Literal["layer", "tensor"] = "layer"
    """What a radial posterior normalises jointly: a layer's weight and bias, as in the paper's text, or each tensor."""
    augment: bool = True
    """Whether training images are randomly flipped, rotated, padded and cropped."""
    gradient_noise_every: int = Field(default=0, ge=0)
    """Epochs between measurements of the NLL gradient's standard deviation over draws; 0 measures none."""
    gradient_noise_samples: int = Field(default=16, ge=2)
    """Draws of the weights for that measurement."""
    checkpoint_every: int = Field(default=0, ge=0)
    """Epochs between checkpoints, from which an interrupted trial resumes; 0 saves none."""
    device: str = "auto"
    """`auto` uses a GPU if the trial has one; or `cpu`, `cuda`, `cuda:1`."""
    precision: Precision = "float32"
    """What convolutions and linear layers compute in, except in tests of final models; draws, KL and optimiser are
    always float32. `bfloat16` is faster and less precise, and refused where it would be emulated; `auto` takes it where
    the processor or GPU has it, and stays with that choice once the study is registered."""
    deterministic: bool = False
    """Refuse operations whose results may differ between runs; CPU runs are reproducible without it."""

    @model_validator(mode="before")
    @classmethod
    def _with_present_key(cls, values: Any) -> Any:
        """Read `mixed_precision`, the former key: true is bfloat16."""
        if not isinstance(values, Mapping) or "mixed_precision" not in values:
            return values
        present = dict(values)
        mixed = present.pop("mixed_precision")
        if not isinstance(mixed, bool):
            raise ValueError(f"mixed_precision must be true or false, found {shown(mixed)}; its new key is precision")
        if "precision" in present:
            raise ValueError("mixed_precision is the former key of precision: set only precision")
        return present | {"precision": "bfloat16" if mixed else "float32"}


def read_training(section: Mapping[str, Any], strict: bool | None = None) -> TrainingOptions:
    """Return the typed `training` section; with `strict`, as for study files, text is never taken for a number."""
    return read_options(TrainingOptions, section, "training", StudyFileError, strict=strict)
