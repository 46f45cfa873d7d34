"""The hyperparameters by which a reader restricts the space: a range where there are many numbers, else ticks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.frames import StudyFrames, is_missing
from report.scales import is_logarithmic, log_names
from report.sections.sensitivity.levels import plain
from report.words import number, text

MOST_TICKS = 8
"""Up to this many different numbers are ticks."""
STOPS = 60
"""Up to so many different numbers are the stops of a range; of more, about so many round numbers."""
_WITHIN_TEN = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)


class AxisEntry(TypedDict):
    """A hyperparameter in the data of the page's script."""

    name: str
    label: str
    arm: int | None
    """The place of the single arm that has it; None if all have it."""
    log: bool
    missing: bool
    """Whether some configurations have no value."""
    levels: list[str]
    """The labels of its ticks in order; empty for a range."""
    keys: list[str]
    """The levels as the page's address writes them."""
    numbers: list[float] | None
    """The levels as numbers, if they are."""
    stops: list[float]
    """The stops of a range from the smallest value to the largest; empty for ticks."""


@dataclass(frozen=True)
class Axis:
    """A hyperparameter, and each configuration's value: the place of its level (-1 for none), or a number or NaN."""

    entry: AxisEntry
    column: NDArray[np.int16] | NDArray[np.float64]


def axes(frames: StudyFrames) -> list[Axis]:
    """The hyperparameters that differ between configurations, in the order of the space."""
    logarithmic = log_names(frames)
    return [_axis(frames, name, name in logarithmic) for name in frames.varied]


def _axis(frames: StudyFrames, name: str, logarithmic: bool) -> Axis:
    column = frames.configurations[name]
    different = sorted({plain(value) for value in column.dropna()}, key=_order)
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in different)
    many = numeric and len(different) > MOST_TICKS and all(map(math.isfinite, different))
    owner = frames.owners.get(name)
    entry: AxisEntry = {
        "name": name,
        "label": text(name, 40),
        "arm": None if owner is None else frames.arms.index(owner),
        "log": numeric and is_logarithmic(map(float, different), declared=logarithmic),
        "missing": bool(column.isna().any()),
        "levels": [] if many else [number(value) for value in different],
        "keys": [] if many else [_key(value) for value in different],
        "numbers": [float(value) for value in different] if numeric and not many else None,
        "stops": [],
    }
    if many:
        known = [float(value) for value in different]
        entry["stops"] = known if len(known) <= STOPS else stops(known[0], known[-1], entry["log"])
        return Axis(entry, pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=math.nan))
    place: Mapping[Any, int] = {value: at for at, value in enumerate(different)}
    places = [-1 if is_missing(value) else place[plain(value)] for value in column]
    return Axis(entry, np.array(places, dtype=np.int16))


def _key(value: Any) -> str:
    """A level as the page's address writes it."""
    return f"{value:.12g}" if isinstance(value, int | float) and not isinstance(value, bool) else text(value, 80)


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def stops(low: float, high: float, logarithmic: bool) -> list[float]:
    """Round numbers from `low` to `high`, evenly spaced on the scale; the first and last are the ends themselves."""
    if logarithmic:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        inner = [float(f"{digit}e{power}") for power in powers for digit in _WITHIN_TEN]
    else:
        step = 10.0 ** math.floor(math.log10((high - low) / STOPS))
        step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= STOPS)
        inner = [float(f"{step * count:.12g}") for count in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [low, *(value for value in inner if low < value < high), high]
