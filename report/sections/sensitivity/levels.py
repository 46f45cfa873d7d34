"""The levels of a hyperparameter: each value where there are few, else the quarters of a range."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from report.frames import is_missing
from report.words import number

MOST_LEVELS = 12
QUARTERS = 4


@dataclass(frozen=True)
class Levels:
    """The levels of one hyperparameter: `labels` in order, and which of them each configuration has (<NA> if none)."""

    labels: list[object]
    of: pd.Series[Any]


def levels(values: pd.Series[Any]) -> Levels:
    """The levels of a column of configurations: its values in order, or quarters of a range of many numbers."""
    known = values.dropna()
    different = sorted({plain(value) for value in known}, key=lambda value: (isinstance(value, str), value))
    if len(different) <= MOST_LEVELS:
        place = {value: at for at, value in enumerate(different)}
        return Levels(different, values.map(lambda v: pd.NA if is_missing(v) else place[plain(v)]).astype("Int64"))
    if not all(isinstance(value, (int, float)) for value in different):
        return Levels([], pd.Series(pd.NA, index=values.index, dtype="Int64"))
    numbers = known.astype(float)
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, QUARTERS + 1)))
    labels: list[object] = [f"{_brief(low)} to {_brief(high)}" for low, high in pairwise(edges)]
    place_of = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(labels) - 1)
    return Levels(labels, pd.Series(place_of, index=known.index).reindex(values.index).astype("Int64"))


def _brief(value: float) -> str:
    return number(float(f"{value:.3g}"))


def plain(value: Any) -> Any:
    """A value of a frame as plain Python; an integer that a gap in the column turned into a float is one again."""
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) >= 2 else value
