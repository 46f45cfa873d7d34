"""Results that are not in the database yet.

The records of a trial can be written in the order started, epochs, ended: a restart removes its earlier epochs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from robustness.trial import TrialKey

Record: TypeAlias = dict[str, Any]


@dataclass
class TrialRecords:
    """The records of one trial."""

    started: Record | None = None
    """`{"attempt", "worker", "device", "time"}` of its start."""
    epochs: dict[int, Record] = field(default_factory=dict)
    """`{"epoch", "pretraining", "seconds", "measures", "curves"}` of each epoch, by its number."""
    ended: Record | None = None
    """`{"status", "metric", "metric_epoch", "error", "seconds", "time", "checksum"}` of its end."""

    def __len__(self) -> int:
        return (self.started is not None) + len(self.epochs) + (self.ended is not None)

    @property
    def complete(self) -> bool:
        """Whether these are all records of an attempt, so that they need nothing of what is in the database."""
        return self.started is not None and self.ended is not None


class Buffer:
    """Records by trial."""

    def __init__(self) -> None:
        self._trials: dict[TrialKey, TrialRecords] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def trials(self) -> Iterator[tuple[TrialKey, TrialRecords]]:
        """Each trial with its records."""
        yield from self._trials.items()

    def start(self, key: TrialKey, record: Record) -> None:
        """A trial starts or restarts; its earlier epochs are discarded."""
        records = self._of(key)
        self.put(key, TrialRecords(record, {}, records.ended))

    def epoch(self, key: TrialKey, record: Record) -> None:
        epochs = self._of(key).epochs
        self._count += record["epoch"] not in epochs
        epochs[record["epoch"]] = record

    def end(self, key: TrialKey, record: Record) -> None:
        """A trial ends; only the first end counts."""
        records = self._of(key)
        if records.ended is None:
            records.ended = record
            self._count += 1

    def put(self, key: TrialKey, records: TrialRecords) -> None:
        """Replace all records of a trial."""
        self._count += len(records) - len(self._trials.get(key, ()))
        self._trials[key] = records

    def _of(self, key: TrialKey) -> TrialRecords:
        return self._trials.setdefault(key, TrialRecords())
