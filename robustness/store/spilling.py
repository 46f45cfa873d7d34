"""The spill file: results that could not be saved, one line for each trial, each with its checksum.

    CHECKSUM {"study": ..., "created": ..., "writer": ..., "trials": 2}
    CHECKSUM {"trial": [0, "radial", 0], "started": {...}, "epochs": [...], "ended": {...}}

A damaged line costs one trial, which is run again; the others are saved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustness.errors import StoreError
from robustness.files import replacing
from robustness.store import encoding
from robustness.store.buffer import Buffer, TrialRecords
from robustness.trial import TrialKey

_DIGITS = 16


@dataclass(frozen=True)
class Spill:
    """The contents of a spill file."""

    buffer: Buffer
    writer: str | None
    """The token of its writer (`robustness.store.fence`)."""
    trials: int
    """How many trials were written to the file."""
    damaged: int
    """How many of them cannot be read."""


def write_spill(path: Path, head: Mapping[str, Any], writer: str | None, buffer: Buffer) -> None:
    """Write the buffer; `head` identifies the study. If that fails, an existing file remains as it was."""
    trials = list(buffer.trials())
    with replacing(path, "w", encoding="utf-8") as file:
        file.write(_line({**head, "writer": writer, "trials": len(trials)}))
        for key, records in trials:
            epochs = list(records.epochs.values())
            file.write(
                _line({"trial": list(key), "started": records.started, "epochs": epochs, "ended": records.ended})
            )


def read_spill(path: Path, head: Mapping[str, Any]) -> Spill:
    """Read a file of `write_spill`; raises StoreError if it is of another study or nothing in it can be trusted."""
    if not path.is_file():
        raise StoreError(f"{str(path)!r} should be a file of unsaved results: move it elsewhere")
    try:
        first, *lines = path.read_bytes().splitlines()
        found = _content(first)
        names, writer, count = {name: found[name] for name in head}, found["writer"], int(found["trials"])
    except OSError as error:
        raise StoreError(f"{str(path)!r}, which contains unsaved results, cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise StoreError(
            f"{str(path)!r}, which should contain unsaved results, is damaged or of another version: move it "
            "elsewhere, and its trials will be rerun"
        ) from None
    if names != dict(head):
        raise StoreError(
            f"{str(path)!r} contains unsaved results of another study called {head['study']!r}: move it elsewhere"
        )
    buffer = Buffer()
    read = 0
    for line in lines:
        try:
            key, records = _trial(_content(line))
        except (ValueError, KeyError, TypeError):
            continue
        buffer.put(key, records)
        read += 1
    return Spill(buffer, writer, count, count - read)


def _line(content: Mapping[str, Any]) -> str:
    text = encoding.dumps(content)
    return f"{_checksum(text.encode())} {text}\n"


def _content(line: bytes) -> dict[str, Any]:
    checksum, _, text = line.partition(b" ")
    if _checksum(text).encode() != checksum:
        raise ValueError("the checksum does not match")
    content: dict[str, Any] = encoding.loads(text)
    return content


def _trial(content: Mapping[str, Any]) -> tuple[TrialKey, TrialRecords]:
    configuration, arm, replicate, *task = content["trial"]
    epochs = {int(record["epoch"]): record for record in content["epochs"]}
    key = TrialKey(int(configuration), str(arm), int(replicate), *map(str, task))
    return key, TrialRecords(content["started"], epochs, content["ended"])


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:_DIGITS]
