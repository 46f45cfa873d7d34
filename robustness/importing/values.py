"""Values of hyperparameters: what a cell means, and which values are the same.

Integers are compared exactly, other numbers after rounding to some significant digits; 10 and 10.0 are one value.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustness.errors import RobustnessError, shown
from robustness.guards.tables import is_neutralised, plain
from robustness.trial import LARGEST

LONGEST_VALUE = 10_000
"""Characters of a hyperparameter's value."""
DIGITS = 6
NOISE = 1e-9
"""Numbers that differ by a smaller share are equal, even if rounding takes them apart."""


@dataclass(frozen=True)
class Levels:
    """A column of hyperparameters as codes [n] into its distinct values; -1 where it has none."""

    codes: NDArray[np.int64]
    distinct: Sequence[Any]


def numbers_in(column: pd.Series[Any]) -> NDArray[np.float64]:
    """The numbers in a column; NaN where a cell is none.

    `pandas.to_numeric` decides which text is a number. Its last digits are not taken: before pandas 3 it rounds a
    quarter of all numbers with 16 digits to a neighbour, so that a file and its import would differ.
    """
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan, copy=True)
    if not pd.api.types.is_numeric_dtype(column):
        cells = column.to_numpy(dtype=object)
        is_text = np.isfinite(numbers) & np.fromiter((isinstance(cell, str) for cell in cells), bool, len(cells))
        numbers[is_text] = cells[is_text].astype(float)
    return np.asarray(numbers, dtype=np.float64)


def bounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of a measure as a sweep records them: those beyond `LARGEST` are infinite."""
    return np.where(np.abs(values) > LARGEST, np.copysign(np.inf, values), values)


def levels_of(column: pd.Series[Any], digits: int, place: str) -> Levels:
    """The distinct values of a column; each is stored as it is first written."""
    if column.dtype == object:
        column = column.map(_hashable)
    codes, distinct = pd.factorize(column)
    read = [value_of(cell, place) for cell in distinct.tolist()]
    numbers: dict[Any, int] = {}
    values: list[Any] = []
    renumbered = np.full(len(read) + 1, -1, dtype=np.int64)
    for code, (value, key) in enumerate(zip(read, _keys(read, digits), strict=True)):
        if value is None:
            continue
        if key not in numbers:
            numbers[key] = len(values)
            values.append(value)
        renumbered[code] = numbers[key]
    return Levels(renumbered[codes], values)


def value_of(cell: Any, place: str) -> Any:
    """The value in a cell: true, false, a number of at most 64 bits, text, or None for an empty one."""
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, int):
        return cell if -(2**63) <= cell < 2**63 else str(cell)
    if isinstance(cell, float):
        if math.isnan(cell):
            return None
        return cell if math.isfinite(cell) else str(cell)
    text = str(cell).strip()
    if "\0" in text or len(text) > LONGEST_VALUE:
        raise RobustnessError(f"{place}: a value must be at most {LONGEST_VALUE:,} characters, found {shown(text)}")
    if not text:
        return None
    if is_neutralised(text):
        return plain(text)
    return _number_or_text(text)


def _number_or_text(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.lower() in ("nan", "none", "null", "n/a", "na", "<na>"):
        return None if text.lower() in ("nan", "n/a", "na", "<na>") else text
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        fits = math.isfinite(value) if isinstance(value, float) else -(2**63) <= value < 2**63
        return value if fits else text
    return text


def _keys(values: Iterable[Any], digits: int) -> list[Any]:
    """What values are compared by: the same for values that count as equal."""
    values = list(values)
    fractions = sorted({value for value in values if isinstance(value, float) and not value.is_integer()})
    rounded: dict[float, float] = {}
    for before, value in zip([None, *fractions], fractions, strict=False):
        close = before is not None and abs(value - before) <= NOISE * abs(value)
        rounded[value] = rounded[before] if close and before is not None else float(f"{value:.{digits}g}")
    return [_key(value, rounded) for value in values]


def _key(value: Any, rounded: dict[float, float]) -> Any:
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, float):
        return rounded.get(value, int(value) if value.is_integer() else value)
    return value if isinstance(value, int) else ("text", value)


def without_containers(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with lists, mappings and other objects in its cells written as JSON, so that cells can be compared."""
    mixed = [name for name in frame.columns if frame[name].dtype == object and _may_hold_objects(frame[name])]
    return frame.assign(**{name: frame[name].map(_written) for name in mixed}) if mixed else frame


def _may_hold_objects(column: pd.Series[Any]) -> bool:
    # pandas names the kinds that it knows, such as `string` and `floating`, and calls everything else mixed.
    return pd.api.types.infer_dtype(column, skipna=True).startswith("mixed")


def _written(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, str | int | float | np.generic) else _json(cell)


def _hashable(cell: Any) -> Any:
    """A cell of a data frame that can be compared: lists and mappings become JSON; numpy's scalars plain ones."""
    if isinstance(cell, np.generic):
        return cell.item()
    if isinstance(cell, bool):
        # Otherwise True and 1 would be one value.
        return str(cell)
    return cell if cell is None or isinstance(cell, str | int | float) else _json(cell)


def _json(cell: Any) -> str:
    try:
        return json.dumps(cell, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(cell)
