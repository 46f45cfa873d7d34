"""TensorBoard's event files: records with checksums, and in them the few fields of its messages that hold scalars.

A record is its length (8 bytes), a checksum of the length, the content and a checksum of it. The content is a protocol
buffer, whose wire format is read here; numbers in comments are those of the fields in TensorBoard's own definitions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robustness.errors import RobustnessError
from robustness.guards.limits import check, open_file

LONGEST_RECORD = 50_000_000
"""Bytes of a record; one with a picture may be large."""


@dataclass
class EventFile:
    """The scalars and hyperparameters of one file."""

    scalars: dict[str, dict[int, float]] = field(default_factory=dict)
    """Each tag by step; of a step that was written twice the later value counts."""
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    status: str = ""
    first: float | None = None
    """The time of the first event, in seconds since 1970, as is `last`."""
    last: float | None = None


def read_events(path: Path) -> EventFile:
    """The events of a file; raises RobustnessError if it is none. An incomplete last record is ignored."""
    found = EventFile()
    for count, content in enumerate(_records(path), start=1):
        check("runs_rows", count, path, RobustnessError)
        try:
            _read_event(content, found)
        except (ValueError, IndexError, struct.error, UnicodeDecodeError) as problem:
            raise RobustnessError(f"{path}: record {count:,} is not an event of TensorBoard ({problem})") from None
    return found


def _records(path: Path) -> Iterator[bytes]:
    with open_file(path, "runs_bytes", RobustnessError) as file:
        place = 0
        while True:
            head = file.read(12)
            if len(head) < 12:
                return
            length, seal = struct.unpack("<QI", head)
            if masked_crc(head[:8]) != seal:
                raise RobustnessError(f"{path}: is damaged at byte {place:,}, or no event file of TensorBoard")
            if length > LONGEST_RECORD:
                raise RobustnessError(f"{path}: a record of {length:,} bytes exceeds the limit of {LONGEST_RECORD:,}")
            content, end = file.read(length), file.read(4)
            if len(content) < length or len(end) < 4:
                return
            if masked_crc(content) != struct.unpack("<I", end)[0]:
                raise RobustnessError(f"{path}: is damaged at byte {place:,}: a record does not match its checksum")
            place += 16 + length
            yield content


def _table() -> tuple[int, ...]:
    """The table of CRC-32C (Castagnoli)."""
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


_TABLE = _table()


def masked_crc(content: bytes) -> int:
    """The checksum of a record: its CRC-32C, rotated by 15 bits and shifted."""
    value = 0xFFFFFFFF
    for byte in content:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    value ^= 0xFFFFFFFF
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: the number of each, and an integer, the bytes of a fixed number, or the bytes within."""
    place = 0
    while place < len(content):
        key, place = _varint(content, place)
        kind = key & 7
        value: Any
        if kind == 0:
            value, place = _varint(content, place)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, place = content[place : place + size], place + size
        elif kind == 2:
            size, place = _varint(content, place)
            value, place = content[place : place + size], place + size
        else:
            raise ValueError(f"a field of the unknown kind {kind}")
        if place > len(content):
            raise ValueError("a field is longer than its message")
        yield key >> 3, value


def _varint(content: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = content[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return value, place
        shift += 7
    raise ValueError("an integer is too long")


def _read_event(content: bytes, found: EventFile) -> None:
    """Event: wall_time 1, step 2, summary 5; Summary: value 1."""
    step, summary = 0, None
    for number, value in fields(content):
        if number == 1:
            found.last = struct.unpack("<d", value)[0]
            found.first = found.last if found.first is None else found.first
        elif number == 2:
            step = value
        elif number == 5:
            summary = value
    for number, value in fields(summary) if summary is not None else ():
        if number == 1:
            _read_value(value, step, found)


def _read_value(content: bytes, step: int, found: EventFile) -> None:
    """Summary.Value: tag 1, simple_value 2, tensor 8, metadata 9."""
    tag, scalar, plugin = "", None, (b"", b"")
    for number, value in fields(content):
        if number == 1:
            tag = value.decode()
        elif number == 2:
            scalar = struct.unpack("<f", value)[0]
        elif number == 8:
            scalar = _tensor(value)
        elif number == 9:
            plugin = _plugin(value)
    if plugin[0] == b"hparams":
        _read_hyperparameters(plugin[1], found)
    elif scalar is not None and plugin[0] in (b"", b"scalars"):
        found.scalars.setdefault(tag, {})[step] = scalar


def _plugin(metadata: bytes) -> tuple[bytes, bytes]:
    """SummaryMetadata: plugin_data 1; PluginData: plugin_name 1, content 2."""
    for number, value in fields(metadata):
        if number == 1:
            inner = dict(fields(value))
            return inner.get(1, b""), inner.get(2, b"")
    return b"", b""


def _tensor(content: bytes) -> float | None:
    """TensorProto of one number: dtype 1 (1 float, 2 double), tensor_content 4, float_val 5, double_val 6."""
    inner = dict(fields(content))
    if inner.get(1) not in (1, 2):
        return None
    form, size = ("<f", 4) if inner[1] == 1 else ("<d", 8)
    raw = inner.get(5 if inner[1] == 1 else 6, inner.get(4, b""))
    return struct.unpack(form, raw)[0] if isinstance(raw, bytes) and len(raw) == size else None


def _read_hyperparameters(content: bytes, found: EventFile) -> None:
    """HParamsPluginData: session_start_info 3 (hparams 1: key 1, value 2), session_end_info 4 (status 1)."""
    for number, value in fields(content):
        if number == 3:
            for inner, entry in fields(value):
                if inner == 1:
                    pair = dict(fields(entry))
                    found.hyperparameters[pair.get(1, b"").decode()] = _json_value(pair.get(2, b""))
        elif number == 4:
            status = dict(fields(value)).get(1, 0)
            found.status = {2: "failed", 3: "running"}.get(status, "")


def _json_value(content: bytes) -> Any:
    """google.protobuf.Value: number 2, string 3, bool 4."""
    for number, value in fields(content):
        if number == 2:
            return struct.unpack("<d", value)[0]
        if number == 3:
            return value.decode()
        if number == 4:
            return bool(value)
    return None
