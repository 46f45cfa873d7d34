"""What the JSON says about gradient noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias, TypedDict


class Wanted(TypedDict):
    """A width and sigma that the paper speaks of."""

    sigma: float
    channels: float


class NoisePoint(TypedDict):
    """The noise of an arm, width and sigma, with standard errors over replicates; None for a single one."""

    arm: str
    channels: int
    sigma: float
    weight_sd: float
    dimension: int
    replicates: int
    variance: float
    variance_error: float | None
    sd: float
    sd_error: float | None
    signal_to_noise: float | None
    signal_to_noise_error: float | None


Points: TypeAlias = Sequence[NoisePoint]


class Growth(TypedDict):
    """The sigmas at which noise explodes, by the three rules."""

    tenfold: float | None
    visible: float | None
    steepest: float
    slope: float


class Explosion(Growth):
    """The growth of the noise of one arm and width."""

    arm: str
    channels: int


class NoiseRatio(TypedDict):
    """The first arm's standard deviation over the second's."""

    arms: list[str]
    channels: int
    sigma: float
    ratio: float
    error: float | None


class Nearest(TypedDict):
    """The measured width and sigma nearest to the paper's."""

    sigma: float
    channels: int
    wanted: Wanted


class NoiseFigures(TypedDict):
    """All figures: what sentences are made from."""

    alone: bool
    points: list[NoisePoint]
    explosions: list[Explosion]
    ratios: list[NoiseRatio]
    at: Nearest | None


class GradientNoiseResults(NoiseFigures):
    """`gradient_noise` of the JSON."""

    sentences: list[str]


def error_or_nan(error: float | None) -> float:
    """The error, NaN where it is not known."""
    return math.nan if error is None else error
