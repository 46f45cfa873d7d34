"""Files with a checksum in their first line, so that damage is noticed when they are read.

ROBUSTNESS 1 <SHA-256 of the rest, in hexadecimal>\\n<content>
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from robustness.errors import RobustnessError
from robustness.files import replacing
from robustness.guards.limits import read_bytes

MAGIC = b"ROBUSTNESS 1 "
_HEAD = len(MAGIC) + 64 + 1


def write_sealed(path: Path, content: bytes) -> None:
    """Write the content with its checksum, atomically."""
    with replacing(path) as file:
        file.write(MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n")
        file.write(content)


def read_sealed(path: Path, limit: str, error: type[RobustnessError]) -> tuple[bytes, bool]:
    """Return the content of a file and whether it has a checksum; raises `error` if the checksum does not match.

    A file without a checksum is returned as it is: the caller decides whether an earlier version could have written it.
    """
    content = read_bytes(path, limit, error)
    if not content.startswith(MAGIC):
        return content, False
    head, body = content[:_HEAD], content[_HEAD:]
    if head[len(MAGIC) :] != hashlib.sha256(body).hexdigest().encode() + b"\n":
        raise error(f"{path}: damaged: its content does not match its checksum")
    return body, True
