"""Outputs replace only what robustness wrote itself, unless `--force` is given, and are written beside and renamed.

A file counts as its own if its beginning or end has the mark of a format: the generator of a page, a figure or a PDF,
the first key of the JSON, the first line of LaTeX, the first columns of the CSV, the metadata of a parquet file, the
first key of an archive.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from robustness.errors import RobustnessError
from robustness.files import replacing

GENERATOR = "robustness-study"
"""Written into every output that can hold it."""
MARKS = (
    b'<meta name="generator" content="robustness-study">',
    b'{\n  "generator": "robustness-study"',
    b"<!-- robustness-study -->",
    b"/Creator (robustness-study)",
    b"% robustness-study\n",
)
CSV_START = b"configuration,replicate,arm,"
ARCHIVE = "robustness-study archive"
"""The format that the first line of a study's archive names."""
ARCHIVE_ENDING = ".archive.jsonl.gz"
ARCHIVE_START = f'{{"format": "{ARCHIVE}"'.encode()
TAKEN = (".db", ".sqlite", ".sqlite3", "-wal", "-shm", "-journal", ".lock", ".jsonl", ".yaml", ".yml", ".pt", ".npy")
"""Endings of stores, their companions, study files, models and prepared data: never those of an output."""
_LOOKED_AT = 8192


@contextmanager
def writing(path: Path, force: bool = False, mode: str = "w", **options: Any) -> Iterator[IO[Any]]:
    """Open a draft that replaces `path` when the block ends; raises RobustnessError unless it may be replaced.

    A symbolic link keeps pointing where it does: the file behind it is replaced.
    """
    try:
        target = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise RobustnessError(f"{str(path)!r} cannot be written: {_reason(error)}") from None
    try:
        check_replaceable(path, target, force)
        with replacing(target, mode, **options) as file:
            yield file
    except OSError as error:
        raise RobustnessError(f"{str(path)!r} cannot be written: {_reason(error)}") from None


def check_replaceable(path: Path, target: Path, force: bool) -> None:
    """Raise RobustnessError if writing to a path would replace something that robustness did not write as output."""
    if not force and target.name.lower().endswith(TAKEN):
        raise RobustnessError(
            f"{str(path)!r} is not written: its name is that of a store, a study file or data; "
            "choose another name, or add --force"
        )
    try:
        status = target.stat()
    except FileNotFoundError:
        return
    if stat.S_ISDIR(status.st_mode):
        raise RobustnessError(f"{str(path)!r} is not written: it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise RobustnessError(f"{str(path)!r} is not written: it is not a regular file")
    if not force and status.st_size and not _is_own(target):
        raise RobustnessError(
            f"{str(path)!r} is not replaced: robustness did not write it; choose another name, or add --force"
        )


def starts_archive(head: bytes) -> bool:
    """Whether a file that begins with these bytes is the archive of a study (`robustness.store.archive`)."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, len(ARCHIVE_START)) == ARCHIVE_START
    except zlib.error:
        return False


def _is_own(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LOOKED_AT))
        ends = head, file.read(_LOOKED_AT)
    if head.startswith(b"PAR1"):
        return GENERATOR.encode() in ends[1]
    if head.startswith(CSV_START) or starts_archive(head):
        return True
    return any(mark in end for mark in MARKS for end in ends)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
