"""The sections `task`, `model` and `training` of the theory studies."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from robustness.validation import StrictOptions


class NoOptions(StrictOptions):
    """An empty section."""


class BubbleOptions(StrictOptions):
    """The `training` section of `soap_bubble`."""

    samples: int = Field(default=10_000, ge=2)
    """Draws of a layer's weights."""
    bins: int = Field(default=60, ge=2, le=1000)
    """Bins of each histogram."""


class PictureOptions(StrictOptions):
    """The `task` section of `gradient_noise`: images of standard normal pixels, labels cycling through the classes."""

    name: Literal["gaussian_pictures"] = "gaussian_pictures"
    pictures: int = Field(default=16, ge=1)
    """Images in the single batch."""
    image_size: int = Field(default=4, ge=1)
    """Height and width; VGG-16's layers with 512 channels see 4 px for an input of 64 px."""
    channels: int = Field(default=3, ge=1)
    classes: int = Field(default=2, ge=2)


class ConvolutionOptions(StrictOptions):
    """The `model` section of `gradient_noise`: a 3 x 3 convolution between a first one and the last linear layer."""

    name: Literal["convolutions"] = "convolutions"
    further: int = Field(default=0, ge=0)
    """Additional convolutions of the same width after the one whose gradient is measured."""


class NoiseOptions(StrictOptions):
    """The `training` section of `gradient_noise`."""

    samples: int = Field(default=16, ge=2)
    """Draws of the weights for the gradient's variance."""
    grouping: Literal["layer", "tensor"] = "layer"
    """What a radial posterior normalises jointly: a layer's weight and bias, or each separately."""
