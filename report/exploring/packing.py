"""Arrays as text within a page: their bytes, compressed by zlib, in base64; the page's script reads them back.

Bytes of numbers are regrouped before compression, the first byte of each number before the second: those of similar
numbers are alike. Nothing is rounded.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

_KINDS = {"float64": "f8", "int32": "i4", "int16": "i2", "uint8": "u1"}


class Packed(TypedDict):
    """Arrays, one after the other."""

    arrays: list[tuple[str, str, int]]
    """The name, kind (`f8`, `i4`, `i2`, `u1`) and length of each."""
    content: str


def pack(arrays: Mapping[str, NDArray[Any]]) -> Packed:
    """Pack flat arrays of the kinds above, in any order of memory."""
    listed: list[tuple[str, str, int]] = []
    parts = []
    for name, values in arrays.items():
        flat = np.ascontiguousarray(values).ravel()
        kind = _KINDS[flat.dtype.name]
        small_first = flat.astype(f"<{kind}").view(np.uint8).reshape(len(flat), flat.itemsize)
        parts.append(small_first.T.tobytes())
        listed.append((name, kind, len(flat)))
    return {"arrays": listed, "content": compressed(b"".join(parts))}


def pack_rows(rows: Sequence[Sequence[str]]) -> str:
    """Pack rows of text, column by column, as compressed JSON."""
    columns = list(zip(*rows, strict=True))
    return compressed(json.dumps(columns, separators=(",", ":"), ensure_ascii=True).encode())


def compressed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode("ascii")
