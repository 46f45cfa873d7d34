"""Values of the tables as an archive has them: JSON's own, and bytes as base64; each is checked on its way back."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any, get_args

from sqlalchemy import JSON, Boolean, Column, Double, Integer, LargeBinary

from robustness.errors import shown
from robustness.store import encoding
from robustness.store.schema import Number
from robustness.trial import ENDED, Stage

CHOICES = {"status": ("planned", *ENDED), "stage": get_args(Stage)}
"""Columns that have one of a few texts."""
KINDS = {
    **dict.fromkeys(("document", "versions", "hardware", "hyperparameters", "own", "measures"), dict),
    "values": list,
}
"""What a column of JSON holds, where it is not any value."""
DEEPEST = 50
"""Levels of lists and objects in a value of JSON."""
LARGEST = 2**31 - 1
"""The largest integer that every database keeps."""


def archived(value: Any) -> Any:
    """A value of the database as it stands in a line."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    # SQLite has one zero and PostgreSQL two; checksums make no difference between them.
    return value + 0.0 if isinstance(value, float) else value


def reader(column: Column[Any]) -> Callable[[Any], Any]:
    """The function from an archived value of this column to that of the database; it raises ValueError."""
    what, fits = _rule(column)
    optional = bool(column.nullable)
    is_bytes = isinstance(column.type, LargeBinary)

    def read(value: Any) -> Any:
        if value is None and optional:
            return None
        if not fits(value):
            raise ValueError(f"{column.name}: must be {what}, found {shown(value)}")
        return base64.b64decode(value) if is_bytes else value

    return read


def _rule(column: Column[Any]) -> tuple[str, Callable[[Any], bool]]:
    """What a column holds, in words and as a test."""
    kind = column.type
    if column.name in CHOICES:
        choices = CHOICES[column.name]
        return f"one of {', '.join(choices)}", lambda value: isinstance(value, str) and value in choices
    if isinstance(kind, Number):
        return "a number with a decimal point", lambda value: isinstance(value, float)
    if isinstance(kind, Double):
        return "a finite number with a decimal point", _is_finite
    if isinstance(kind, Boolean):
        return "true or false", lambda value: isinstance(value, bool)
    if isinstance(kind, Integer):
        return "an integer of 32 bits", _is_integer
    if isinstance(kind, LargeBinary):
        return "bytes in base64", _is_base64
    if isinstance(kind, JSON):
        form = KINDS.get(column.name, object)
        what = {"dict": "an object", "list": "a list"}.get(form.__name__, "a value")
        return f"{what} of at most {DEEPEST} levels", lambda value: isinstance(value, form) and not _is_deep(value)
    longest = getattr(kind, "length", None) or LARGEST
    return f"a text of at most {longest:,} characters, none of them NUL", lambda value: _is_text(value, longest)


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST


def _is_base64(value: Any) -> bool:
    try:
        return isinstance(value, str) and archived(base64.b64decode(value, validate=True)) == value
    except ValueError:
        return False


def _is_text(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest and encoding.text(value) == value


def _is_deep(value: Any, levels: int = DEEPEST) -> bool:
    """Whether a value is nested in more than these levels, which could not be written again."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_is_deep(each, levels - 1) for each in inner)
