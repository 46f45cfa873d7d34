"""Arrays of predictions as the database keeps them: compressed `.npy`."""

from __future__ import annotations

import io
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from robustness.errors import StoreError


def pack(array: npt.ArrayLike) -> bytes:
    """Encode an array as compressed `.npy` bytes; raises StoreError for an array of objects."""
    buffer = io.BytesIO()
    try:
        np.save(buffer, np.asarray(array), allow_pickle=False)
    except ValueError as error:
        raise StoreError(f"an array of objects cannot be stored as predictions ({error})") from error
    return zlib.compress(buffer.getvalue(), level=6)


def unpack(content: bytes) -> npt.NDArray[Any]:
    """Decode an array of `pack`."""
    try:
        array: npt.NDArray[Any] = np.load(io.BytesIO(zlib.decompress(content)), allow_pickle=False)
    except (ValueError, EOFError, zlib.error) as error:
        raise StoreError(f"an array of predictions in the store is damaged ({error})") from error
    return array
