"""Encoding of values in the database: JSON that supports NaN and infinities, and arrays as compressed `.npy`.

JSON has no NaN, and PostgreSQL rejects Python's notation for it, so such a float is written as `{"$float": "nan"}`.
"""

from __future__ import annotations

import io
import json
import math
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from robustness.errors import StoreError

if TYPE_CHECKING:
    import numpy.typing as npt

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


def pack(array: npt.ArrayLike) -> bytes:
    """Encode an array as compressed `.npy` bytes; raises StoreError for an array of objects."""
    import numpy as np  # here, because commands that read no predictions do not need numpy

    buffer = io.BytesIO()
    try:
        np.save(buffer, np.asarray(array), allow_pickle=False)
    except ValueError as error:
        raise StoreError(f"an array of objects cannot be stored as predictions ({error})") from error
    return zlib.compress(buffer.getvalue(), level=6)


def unpack(content: bytes) -> npt.NDArray[Any]:
    """Decode an array of `pack`."""
    import numpy as np  # here, because commands that read no predictions do not need numpy

    try:
        array: npt.NDArray[Any] = np.load(io.BytesIO(zlib.decompress(content)), allow_pickle=False)
    except (ValueError, EOFError, zlib.error) as error:
        raise StoreError(f"an array of predictions in the store is damaged ({error})") from error
    return array
