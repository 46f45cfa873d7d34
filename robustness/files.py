"""Atomic writes: a reader sees the previous file or the new one, never a partial one; safe names of files."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

LONGEST_NAME = 120
"""Bytes of a file name that is made from a label; file systems allow 255, and a suffix follows."""
_RESERVED = frozenset(
    ("con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10)), "")
)


@contextmanager
def replacing(path: Path, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`, which is synced and replaces `path` when the block ends without an error.

    `options` are passed to `open`. The folder is created if needed. After an error the temporary file is removed and
    `path` is left as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name that just fits leaves no room for a suffix.
    draft = path.with_name(f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}.{os.getpid()}.part")
    try:
        with draft.open(mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def file_name(label: str) -> str:
    """Return a label as a file name on any system: the label itself if it is safe and short, as most are.

    Others are shortened, their unsafe characters replaced, and end in a hash, so that two labels never share a name.
    """
    fit = (letter if unicodedata.category(letter)[0] in "LMN" or letter in " -_.+=@,()" else "_" for letter in label)
    safe = "".join(fit).strip(" .")
    name = safe.encode(errors="replace")[:LONGEST_NAME].decode(errors="ignore").strip(" .")
    if name == label and name.partition(".")[0].lower() not in _RESERVED:
        return name
    return f"{name}-{hashlib.sha256(label.encode(errors='surrogatepass')).hexdigest()[:8]}"
