"""ZIP archives of strangers: their number of members and each member's size are known before anything is unpacked."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import BinaryIO

from robustness.errors import RobustnessError
from robustness.guards.limits import check, limit, open_file

_END, _END_64, _LOCATOR_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_BYTES_PER_MEMBER = 512
"""More than the directory of an archive needs for a member."""


def open_archive(path: Path, size_limit: str | None, error: type[RobustnessError]) -> zipfile.ZipFile:
    """Open an archive whose directory is within the limits; raises `error` for anything else.

    `size_limit` names the limit on the archive's own size; None sets none, since members are read one by one.
    """
    with open_file(path, size_limit, error) as file:
        try:
            _check_directory(file, path, error)
            archive = zipfile.ZipFile(path)
        except (OSError, ValueError, NotImplementedError, struct.error, zipfile.BadZipFile) as problem:
            raise error(f"{path}: is not a readable ZIP archive ({problem})") from None
    try:
        check("archive_members", len(archive.infolist()), path, error)
    except BaseException:
        archive.close()
        raise
    return archive


def read_member(archive: zipfile.ZipFile, name: str, size_limit: str, error: type[RobustnessError]) -> bytes:
    """Return a member of at most the limit's size; raises what `zipfile` raises for a damaged one."""
    entry = archive.getinfo(name)
    check(size_limit, entry.file_size, name, error)
    with archive.open(entry) as file:
        # The sizes in the directory are claims; this many bytes are never exceeded.
        content = file.read(limit(size_limit) + 1)
    check(size_limit, len(content), name, error)
    return content


def _check_directory(file: BinaryIO, path: Path, error: type[RobustnessError]) -> None:
    """Check the number of members that an archive declares, since `zipfile` reads its whole directory."""
    size = file.seek(0, 2)
    start = max(0, size - 66_000)
    file.seek(start)
    tail = file.read()
    place = tail.rfind(_END)
    if place < 0 or len(tail) < place + 22:
        raise zipfile.BadZipFile("it has no directory")
    members, length = struct.unpack_from("<HL", tail, place + 10)
    locator = tail.rfind(_LOCATOR_64, 0, place)
    if locator >= 0 and len(tail) >= locator + 20:
        (offset,) = struct.unpack_from("<Q", tail, locator + 8)
        file.seek(min(offset, size))
        end = file.read(56)
        if end.startswith(_END_64) and len(end) == 56:
            members, length = struct.unpack_from("<QQ", end, 32)
    check("archive_members", members, path, error)
    check("archive_members", length // _BYTES_PER_MEMBER, path, error)
