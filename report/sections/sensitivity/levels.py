"""The levels of a hyperparameter: each value where there are few, else the quarters of a range."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from report.frames import is_missing
from report.words import number, typeset

RANGE = re.compile(r"(\S+) to (\S+)")
"""The label of a quarter of a range."""
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
    quarter = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    _, place_of = np.unique(quarter, return_inverse=True)
    # A quantile may be a value that no run has.
    ends = numbers.groupby(place_of).agg(["min", "max"])
    labels: list[object] = [f"{_brief(low)} to {_brief(high)}" for low, high in ends.itertuples(index=False)]
    return Levels(labels, pd.Series(place_of, index=known.index).reindex(values.index).astype("Int64"))


def level_words(value: object) -> str:
    """A level in a sentence: `−2`, `1e-5 to 4e-4`."""
    found = RANGE.fullmatch(value) if isinstance(value, str) else None
    if found:
        return f"{two_digits(found[1])} to {two_digits(found[2])}"
    return number(value) if isinstance(value, str) else typeset(number(value))


def two_digits(end: str) -> str:
    """An end of a quarter of a range in two digits."""
    return typeset(number(float(f"{float(end):.2g}")))


def _brief(value: float) -> str:
    return number(float(f"{value:.3g}"))


def plain(value: Any) -> Any:
    """A value of a frame as plain Python; an integer that a gap in the column turned into a float is one again."""
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) >= 2 else value
