"""Archives of studies, opened and sealed again, for tests that change what is in them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robustness.store import StudyStore
from robustness.store.archive import write_archive


def bytes_of(study: StudyStore) -> bytes:
    """The archive of a study."""
    file = io.BytesIO()
    write_archive(study, file)
    return file.getvalue()


def lines_of(archive: bytes) -> list[Any]:
    """The value on each line but the last, which has the checksum."""
    return [json.loads(line) for line in gzip.decompress(archive).splitlines()[:-1]]


def sealed(lines: Sequence[Any]) -> bytes:
    """An archive of these lines, with the checksum that they have; bytes stand for a line as it is."""
    content = b"".join(line if isinstance(line, bytes) else f"{json.dumps(line)}\n".encode() for line in lines)
    seal = json.dumps({"sha256": hashlib.sha256(content).hexdigest()})
    return gzip.compress(content + f"{seal}\n".encode(), mtime=0)


def place_of(lines: Sequence[Any], table: str, column: str, row: int = 0) -> tuple[int, int]:
    """Where the value of a column stands in a row of a table: the line, and the place in it."""
    start = next(n for n, line in enumerate(lines) if isinstance(line, dict) and line.get("table") == table)
    return start + 1 + row, lines[start]["columns"].index(column)


def with_value(archive: bytes, table: str, column: str, value: Any, row: int = 0) -> bytes:
    """The archive with another value in a row of a table, and the checksum that follows from it."""
    lines = lines_of(archive)
    line, place = place_of(lines, table, column, row)
    lines[line][place] = value
    return sealed(lines)


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
