"""Values as the databases keep them: JSON in which NaN and the infinities survive, and arrays as compressed `.npy`.

JSON has no NaN, and PostgreSQL refuses Python's way of writing one, so such a float is written `{"$float": "nan"}`.
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
    """`value` as JSON text; numpy's numbers and arrays are plain numbers and lists in it."""
    try:
        return json.dumps(value, allow_nan=False, default=_plain)
    except ValueError:
        return json.dumps(_marked(value), allow_nan=False)


def loads(text: str | bytes) -> Any:
    """What `dumps` was given."""
    marked = _MARK in text if isinstance(text, str) else _MARK.encode() in text
    return json.loads(text, object_hook=_unmarked) if marked else json.loads(text)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise StoreError(f"a {type(value).__name__} cannot be kept as JSON: {str(value)[:80]!r}")


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
    """Text that both databases take: PostgreSQL has no NUL and neither has half a surrogate pair."""
    if value is None:
        return None
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def pack(array: npt.ArrayLike) -> bytes:
    """An array as compressed `.npy` bytes; an array of objects is refused."""
    import numpy as np

    buffer = io.BytesIO()
    try:
        np.save(buffer, np.asarray(array), allow_pickle=False)
    except ValueError as error:
        raise StoreError(f"an array of objects cannot be kept as predictions ({error})") from error
    return zlib.compress(buffer.getvalue(), level=6)


def unpack(content: bytes) -> npt.NDArray[Any]:
    """The array that `pack` was given."""
    import numpy as np

    try:
        array: npt.NDArray[Any] = np.load(io.BytesIO(zlib.decompress(content)), allow_pickle=False)
    except (ValueError, EOFError, zlib.error) as error:
        raise StoreError(f"an array of predictions in the store is damaged ({error})") from error
    return array
