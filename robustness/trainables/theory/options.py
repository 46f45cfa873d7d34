"""The sections `task`, `model` and `training` of the theory studies."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


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
