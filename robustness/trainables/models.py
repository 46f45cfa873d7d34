"""The `model` section of a study file: the name of a blueprint and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from robustness import bnn
from robustness.errors import ModelError, unknown_name
from robustness.validation import read_options

SMALLEST_IMAGE = 16


class VGGOptions(BaseModel):
    """The options of `vgg_small` and `vgg16`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_channels: int = Field(strict=True, ge=1, le=1024)
    """Channels of the first block; later blocks have up to eight times as many."""
    channel_factor: float = Field(default=1.0, gt=0, le=1)
    """Factor on the channels of every block: 1, 5/8 and 3/8 in the paper."""
    depth: Literal["full", "short"] = "full"
    """`full` has VGG-16's thirteen convolutions, `short` its first seven."""


class MLPOptions(BaseModel):
    """The options of `mlp`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden: tuple[int, ...] = (200, 200, 200, 200)
    """The width of each hidden layer."""
    heads: int = Field(default=1, ge=1)
    """The number of output layers: one per task in a multi-headed network."""


BASE_CHANNELS = {"vgg_small": 16, "vgg16": 46}
MODELS = (*BASE_CHANNELS, "mlp")


def check_model(options: Mapping[str, Any], image_size: int | None = None) -> None:
    """Raise a `ModelError` unless `{"name": ..., **options}` can be built for images of this size."""
    read_model(options)
    if options["name"] != "mlp" and image_size is not None and image_size < SMALLEST_IMAGE:
        raise ModelError(f"model {options['name']} needs images of at least {SMALLEST_IMAGE} px, found {image_size}")


def read_model(options: Mapping[str, Any]) -> VGGOptions | MLPOptions:
    """Return the typed options of `{"name": ..., **options}`."""
    rest = dict(options)
    name = rest.pop("name", None)
    kind: type[VGGOptions | MLPOptions] = MLPOptions if name == "mlp" else VGGOptions
    if name not in MODELS:
        raise ModelError(unknown_name("model", name, MODELS))
    if name in BASE_CHANNELS:
        rest.setdefault("base_channels", BASE_CHANNELS[name])
    return read_options(kind, rest, "model", ModelError)


def blueprint(options: Mapping[str, Any], inputs: int, classes: int) -> bnn.Blueprint:
    """Return the blueprint of `{"name": ..., **options}` for a number of input channels (or features) and classes."""
    read = read_model(options)
    if isinstance(read, MLPOptions):
        return bnn.mlp(inputs, classes, read.hidden, read.heads)
    blocks = bnn.FULL if read.depth == "full" else bnn.SHORT
    return bnn.vgg(inputs, classes, read.base_channels, read.channel_factor, blocks)
