"""Encoding of values in the database: JSON that supports NaN and infinities.

JSON has no NaN, and PostgreSQL rejects Python's notation for it, so such a float is written as `{"$float": "nan"}`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from robustness.errors import StoreError

_MARK = "$float"


def dumps(value: Any) -> str:
    """Encode a value as JSON text; NumPy's numbers and arrays become plain numbers and lists."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except ValueError:
        return json.dumps(_marked(value), allow_nan=False)


def loads(text: str | bytes) -> Any:
    """Decode the text of `dumps`."""
    marked = _MARK in text if isinstance(text, str) else _MARK.encode() in text
    return json.loads(text, object_hook=_unmarked) if marked else json.loads(text)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise StoreError(f"a {type(value).__name__} cannot be stored as JSON: {str(value)[:80]!r}")


def _marked(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {_MARK: str(float(value))}
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {key: _marked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_marked(item) for item in value]
    return _marked(_plain(value))


def _unmarked(value: dict[str, Any]) -> Any:
    return float(value[_MARK]) if value.keys() == {_MARK} else value


def text(value: str | None) -> str | None:
    """Replace characters that a database cannot store: NUL (PostgreSQL) and lone surrogates."""
    if value is None:
        return None
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
