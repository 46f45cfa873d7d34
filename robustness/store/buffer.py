"""Results that are not in the database yet, and the file to which they are written in a long outage.

The records of a trial can be written in the order started, epochs, ended: a restart removes its earlier epochs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from robustness.errors import StoreError
from robustness.files import replacing
from robustness.store import encoding
from robustness.trial import TrialKey

Record: TypeAlias = dict[str, Any]


@dataclass
class Buffer:
    """Records by trial: `{"attempt", "worker", "device", "time"}` of its start, `{"epoch", "pretraining",
    "seconds", "measures", "curves"}` of each epoch, `{"status", "metric", "metric_epoch", "error", "seconds", "time"}`
    of its end."""

    started: dict[TrialKey, Record] = field(default_factory=dict)
    epochs: dict[tuple[TrialKey, int], Record] = field(default_factory=dict)
    ended: dict[TrialKey, Record] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.started) + len(self.epochs) + len(self.ended)

    def start(self, key: TrialKey, record: Record) -> None:
        """A trial starts or restarts; its earlier epochs are discarded."""
        self.epochs = {of: epoch for of, epoch in self.epochs.items() if of[0] != key}
        self.started[key] = record

    def epoch(self, key: TrialKey, record: Record) -> None:
        self.epochs[key, record["epoch"]] = record

    def end(self, key: TrialKey, record: Record) -> None:
        """A trial ends; only the first end counts."""
        self.ended.setdefault(key, record)

    def lines(self) -> Iterator[Record]:
        """Every record with its kind and trial, in the order that `of_lines` expects."""
        yield from ({"kind": "started", "trial": key, **record} for key, record in self.started.items())
        yield from ({"kind": "epoch", "trial": key, **record} for (key, _), record in self.epochs.items())
        yield from ({"kind": "ended", "trial": key, **record} for key, record in self.ended.items())

    @staticmethod
    def of_lines(lines: Iterable[Record]) -> Buffer:
        buffer = Buffer()
        add = {"started": buffer.start, "epoch": buffer.epoch, "ended": buffer.end}
        for line in lines:
            configuration, arm, replicate = line.pop("trial")
            add[line.pop("kind")](TrialKey(int(configuration), str(arm), int(replicate)), line)
        return buffer


def write_spill(path: Path, head: Record, buffer: Buffer) -> None:
    """Write `head` and the buffer as JSON lines; if that fails, an existing file remains as it was."""
    with replacing(path, "w", encoding="utf-8") as file:
        for line in (head, *buffer.lines()):
            file.write(encoding.dumps(line) + "\n")


def read_spill(path: Path, head: Record) -> Buffer:
    """The buffer from a file of `write_spill`; raises StoreError if it is damaged or of another study."""
    try:
        first, *lines = [encoding.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if first != head:
            raise StoreError(
                f"{str(path)!r} contains unsaved results of another study called {head['study']!r}: move it elsewhere"
            )
        return Buffer.of_lines(lines)
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{str(path)!r}, which contains unsaved results, is damaged ({error}): move it elsewhere"
        ) from error
