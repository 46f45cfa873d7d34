"""The writer of a sweep: it buffers results, writes them in batches, and survives outages of the database.

Results are saved when `flush` returns. During an outage the writer keeps buffering and retries with growing pauses;
after `patience` seconds it writes unsaved results to a file, which the next writer loads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from robustness.errors import StoreError
from robustness.store.buffer import Buffer, Record, read_spill, write_spill
from robustness.store.connection import Database, complaint
from robustness.store.schema import trials
from robustness.store.statements import save
from robustness.trial import ENDED, EpochResult, Status, TrialKey

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0


class Writer:
    """Records the events of one study's trials; close it, or use it as a context manager."""

    def __init__(
        self,
        database: Database,
        study: int,
        head: Record,
        *,
        spill: Path,
        flush_every: float = 1.0,
        flush_rows: int = 2000,
        patience: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`study` is its row; `head` identifies the study in the spill file."""
        self.spill = spill
        self._database, self._study, self._head = database, study, head
        self._flush_every, self._flush_rows, self._patience = flush_every, flush_rows, patience
        self._clock, self._sleep = clock, sleep
        self._guard = threading.RLock()
        self._buffer = Buffer()
        self._ids: dict[TrialKey, int] = {}
        self._ended: set[TrialKey] = set()
        self._flushed_at = clock()
        self._away_since: float | None = None
        self._retry_at = 0.0
        self._pause = FIRST_PAUSE
        self._gave_up: StoreError | None = None
        self._read_trials()
        self._load_spill()

    def started(self, key: TrialKey, attempt: int = 1, worker: str | None = None, device: str | None = None) -> None:
        """A trial starts; the epochs of an earlier attempt are discarded."""
        record = {"attempt": attempt, "worker": worker, "device": device, "time": time.time()}
        with self._guard:
            if self._is_open(key):
                self._buffer.start(key, record)
                self._flush_if_due()

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        """A trial has completed an epoch; ignored if the trial has ended."""
        record = {
            "epoch": result.epoch,
            "pretraining": bool(result.pretraining),
            "seconds": float(result.seconds),
            "measures": {name: _number(key, result, name, value) for name, value in result.measures.items()},
            "curves": {
                name: [_number(key, result, name, value) for value in values] for name, values in result.curves.items()
            },
        }
        with self._guard:
            if self._is_open(key):
                self._buffer.epoch(key, record)
                self._flush_if_due()

    def ended(
        self,
        key: TrialKey,
        status: Status,
        metric: float | None = None,
        metric_epoch: int | None = None,
        error: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """A trial has ended; later events for it are ignored, and the buffer is written."""
        if status not in ENDED:
            raise StoreError(f"trial {key} cannot end as {status!r} (one of {', '.join(sorted(ENDED))})")
        record: Record = {
            "status": status,
            "metric": None if metric is None else float(metric),
            "metric_epoch": None if metric_epoch is None else int(metric_epoch),
            "error": error,
            "seconds": None if seconds is None else float(seconds),
            "time": time.time(),
        }
        with self._guard:
            if self._is_open(key):
                self._ended.add(key)
                self._buffer.end(key, record)
                self._flush_if_due(at_once=True)

    def flush(self) -> None:
        """Return when everything recorded is in the database; raises StoreError after too long an outage."""
        with self._guard:
            if self._gave_up is not None:
                raise self._gave_up
            try:
                while self._buffer and not self._write():
                    self._sleep(max(0.0, self._retry_at - self._clock()))
            except KeyboardInterrupt:
                self._write_spill()
                raise

    def close(self) -> None:
        """Write the rest of the buffer."""
        if self._gave_up is None:
            self.flush()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        # Another error ends the sweep: try once more without waiting, and let that error propagate.
        with self._guard:
            try:
                if self._gave_up is None and self._buffer and not self._write():
                    self._write_spill()
            except StoreError as second:
                error.add_note(str(second))

    def _is_open(self, key: TrialKey) -> bool:
        if key not in self._ids:
            self._read_trials()
        if key not in self._ids:
            raise StoreError(f"trial {key} is not in the plan of study {self._head['study']!r}")
        return key not in self._ended

    def _read_trials(self) -> None:
        columns = (trials.c.configuration, trials.c.arm, trials.c.replicate, trials.c.id, trials.c.status)
        with self._database.read() as connection:
            for *key, row, status in connection.execute(select(*columns).where(trials.c.study == self._study)):
                self._ids[TrialKey(*key)] = row
                if status in ENDED:
                    self._ended.add(TrialKey(*key))

    def _load_spill(self) -> None:
        """Save the results that an earlier writer left in its spill file, then remove the file."""
        if not self.spill.exists():
            return
        buffer = read_spill(self.spill, self._head)
        for key in {*buffer.started, *buffer.ended, *(key for key, _ in buffer.epochs)}:
            if not self._is_open(key):
                buffer.started.pop(key, None)
                buffer.ended.pop(key, None)
                buffer.epochs = {of: record for of, record in buffer.epochs.items() if of[0] != key}
        self._buffer = buffer
        self._ended.update(buffer.ended)
        self.flush()
        self.spill.unlink(missing_ok=True)

    def _flush_if_due(self, at_once: bool = False) -> None:
        if self._gave_up is not None:
            # The event that exhausted the patience raised; later events go to the file, too.
            self._write_spill()
            return
        now = self._clock()
        if self._away_since is not None:
            due = now >= self._retry_at
        else:
            due = at_once or len(self._buffer) >= self._flush_rows or now - self._flushed_at >= self._flush_every
        if due:
            self._write()

    def _write(self) -> bool:
        """Try once to write the buffer; returns False if it should be retried later."""
        try:
            with self._database.engine.begin() as connection:
                save(connection, self._buffer, self._ids)
        except SQLAlchemyError as error:
            now = self._clock()
            self._away_since = now if self._away_since is None else self._away_since
            left = self._patience - (now - self._away_since)
            if not _is_transient(error) or left <= 0:
                raise self._give_up(error) from None
            self._retry_at = now + min(self._pause, left)
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            return False
        self._buffer = Buffer()
        self._flushed_at, self._away_since, self._pause = self._clock(), None, FIRST_PAUSE
        return True

    def _give_up(self, error: SQLAlchemyError) -> StoreError:
        self._write_spill()
        self._gave_up = StoreError(
            f"store {self._database.shown!r} cannot be written ({complaint(error, self._database.url)}); "
            f"unsaved results are in {str(self.spill)!r}, which the next run loads"
        )
        return self._gave_up

    def _write_spill(self) -> None:
        try:
            write_spill(self.spill, self._head, self._buffer)
        except OSError as error:
            raise StoreError(
                f"store {self._database.shown!r} cannot be written, and neither can {str(self.spill)!r} "
                f"({error.strerror or error}): {len(self._buffer)} results are lost and will be recomputed"
            ) from error


def _is_transient(error: SQLAlchemyError) -> bool:
    """Whether the error may go away: a database that is locked, restarting, unreachable or full."""
    if isinstance(error, (OperationalError, InterfaceError)):
        return True
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _number(key: TrialKey, result: EpochResult, name: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise StoreError(
            f"trial {key}, epoch {result.epoch}: measure {name!r} is {str(value)[:40]!r}, which is not a number"
        ) from None
