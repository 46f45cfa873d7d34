"""Atomic writes: a reader sees the previous file or the new one, never a partial one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def replacing(path: Path, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file beside `path`, which is synced and replaces `path` when the block ends without an error.

    `options` are passed to `open`. The folder is created if needed. After an error the temporary file is removed and
    `path` is left as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with draft.open(mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
