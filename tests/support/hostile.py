"""Files and texts that strangers would send: small, and costly to whoever believes what they say."""

from __future__ import annotations

import os
import socket
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from robustness.errors import RobustnessError
from robustness.guards.printable import printable

EVIL = {
    "ANSI colour": "\x1b[31mred\x1b[0m",
    "ANSI title": "\x1b]0;owned\x07",
    "cursor up": "a\x1b[2Ab",
    "C1 control": "a\x9b31mb",
    "bell": "ding\x07",
    "backspaces": "safe\b\b\b\bevil",
    "NUL": "a\0b",
    "delete": "a\x7fb",
    "right-to-left override": "txt.\u202egnp.exe",
    "left-to-right override": "a\u202db",
    "isolate": "a\u2066b\u2069",
    "right-to-left mark": "a\u200fb",
    "Arabic letter mark": "a\u061cb",
    "zero-width space": "ad\u200bmin",
    "zero-width joiner": "a\u200db",
    "byte order mark": "a\ufeffb",
    "word joiner": "a\u2060b",
    "soft hyphen": "a\xadb",
    "lone surrogate": "a\ud800b",
    "line separator": "a\u2028b",
    "tag characters": "a\U000e0041b",
    "private use": "a\ue000b",
    "Hangul filler": "a\u3164b",
    "noncharacter": "a\ufffeb",
}
"""Texts with characters that a terminal or an eye would obey or overlook."""

NAMES = {
    "combining": "e\u0301\u0302" * 30,
    "Chinese": "超参数稳健性" * 16,
    "Arabic": "متانة" * 20,
    "Hebrew": "חוסן" * 20,
    "Devanagari": "मजबूती" * 16,
    "Thai": "ความทนทาน" * 11,
    "emoji": "🧪🔬" * 50,
    "full-width": "ＡＢＣ" * 33,
}
"""Long names in many scripts, all of at most 100 characters."""


def png(width: int, height: int, depth: int = 8, colour: int = 0) -> bytes:
    """A PNG that declares this size and has a single row of data."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    """A JPEG whose header declares this size."""
    content = bytearray(encoded(np.zeros((8, 8, 3), dtype=np.uint8), "JPEG"))
    place = content.index(b"\xff\xc0")
    content[place + 5 : place + 9] = struct.pack(">HH", height, width)
    return bytes(content)


def bmp(width: int, height: int) -> bytes:
    """A BMP whose header declares this size."""
    content = bytearray(encoded(np.zeros((8, 8, 3), dtype=np.uint8), "BMP"))
    content[18:26] = struct.pack("<ii", width, height)
    return bytes(content)


def tiff(width: int, height: int) -> bytes:
    """A TIFF whose tags declare this size."""
    content = bytearray(encoded(np.zeros((8, 8, 3), dtype=np.uint8), "TIFF"))
    (start,) = struct.unpack_from("<I", content, 4)
    (count,) = struct.unpack_from("<H", content, start)
    for place in range(start + 2, start + 2 + 12 * count, 12):
        (tag,) = struct.unpack_from("<H", content, place)
        if tag in (256, 257):
            struct.pack_into("<HHII", content, place, tag, 4, 1, width if tag == 256 else height)
    return bytes(content)


def encoded(pixels: np.ndarray, file_format: str = "PNG", **options: object) -> bytes:
    """Pixels as an image file."""
    content = BytesIO()
    Image.fromarray(pixels).save(content, file_format, **options)
    return content.getvalue()


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with a few bytes changed, cut, repeated or moved at random."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        start = int(rng.integers(len(changed) + 1))
        size = int(rng.integers(1, 33))
        match int(rng.integers(5)):
            case 0 if start < len(changed):
                changed[start] = int(rng.integers(256))
            case 1:
                del changed[start : start + size]
            case 2:
                changed[start:start] = changed[start : start + size]
            case 3:
                changed[start : start + size] = rng.integers(0, 256, size, dtype=np.uint8).tobytes()
            case _:
                changed[start : start + 4] = struct.pack(">I", int(rng.integers(2**32)))
    return bytes(changed)


@contextmanager
def special_files(folder: Path) -> Iterator[dict[str, Path]]:
    """Paths that are no regular files, by kind."""
    fifo, bound, loop = folder / "fifo", folder / "socket", folder / "loop"
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    (folder / "folder").mkdir()
    (folder / "to_fifo").symlink_to(fifo)
    before = Path.cwd()
    with socket.socket(socket.AF_UNIX) as listener:
        # The address of a socket is short.
        os.chdir(folder)
        listener.bind("socket")
        os.chdir(before)
        yield {
            "fifo": fifo,
            "link to a fifo": folder / "to_fifo",
            "socket": bound,
            "endless device": Path("/dev/zero"),
            "empty device": Path("/dev/null"),
            "link to itself": loop,
            "folder": folder / "folder",
            "missing": folder / "missing",
            "name too long": folder / ("x" * 300),
            "path too long": folder / "/".join(["x" * 200] * 30),
            "under a file": Path(__file__) / "below",
        }


def is_one_safe_line(text: str) -> bool:
    """Whether a message is a single line that a terminal shows and does not obey."""
    body = text.removesuffix("\n")
    return bool(body) and body.isprintable() and "Traceback" not in body


READ = "read"


def answer_of(read: Callable[[Path], object], path: Path) -> str:
    """`READ` if a reader accepts a file, or the line with which it refuses it, as the command line prints it."""
    try:
        read(path)
    except RobustnessError as error:
        return printable(error)
    return READ
