"""The writer of a sweep: it buffers results, writes them in batches, and survives outages of the database.

Results are saved when `flush` returns. During an outage the writer keeps buffering and retries with growing pauses;
after `patience` seconds it writes unsaved results to a file, which the next writer loads. If another sweep has taken
over the study, or the database is no longer the one that was opened, it stops at once.
"""

from __future__ import annotations

import re
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from robustness.errors import ReplacedError, StoreError, TakenOverError
from robustness.store.buffer import Buffer, Record
from robustness.store.checksums import of_epoch, of_trial
from robustness.store.connection import Database
from robustness.store.fence import Fence
from robustness.store.hiding import complaint
from robustness.store.rescue import rescue
from robustness.store.schema import trials
from robustness.store.spilling import read_spill, write_spill
from robustness.store.statements import save
from robustness.trial import ENDED, EpochResult, Status, TrialKey

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
_DROPPED = re.compile(r'database ".*" does not exist')
WATCH_EVERY = 2.0
"""Seconds between two looks at the database while nothing is written."""


class Writer:
    """Records the events of one study's trials; close it, or use it as a context manager."""

    def __init__(
        self,
        database: Database,
        study: int,
        head: Record,
        fence: Fence,
        *,
        spill: Path,
        flush_every: float = 1.0,
        flush_rows: int = 2000,
        flush_ends: bool = True,
        patience: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`study` is its row; `head` identifies the study in the spill file; `flush_ends` saves each end at once."""
        self.spill = spill
        self._database, self._study, self._head, self._fence = database, study, head, fence
        self._flush_every, self._flush_rows, self._flush_ends = flush_every, flush_rows, flush_ends
        self._patience = patience
        self._clock, self._sleep = clock, sleep
        self._guard = threading.RLock()
        self._buffer = Buffer()
        self._ids: dict[TrialKey, int] = {}
        self._ended: set[TrialKey] = set()
        self._parts: dict[TrialKey, dict[int, int]] = {}
        """Of each trial that has started here, the part of each epoch in the trial's checksum."""
        self._flushed_at = self._watched_at = clock()
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
                self._parts[key] = {}
                self._flush_if_due()

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        """A trial has completed an epoch; ignored if the trial has ended."""
        record: Record = {
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
                if key in self._parts:
                    numbers = {**record["measures"], "seconds": record["seconds"]}
                    self._parts[key][result.epoch] = of_epoch(result.epoch, record["pretraining"], numbers)
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
        """A trial has ended; later events for it are ignored, and the buffer is written (see `flush_ends`)."""
        if status not in ENDED:
            raise StoreError(f"trial {key} cannot end as {status!r} (one of {', '.join(sorted(ENDED))})")
        record: Record = {
            "status": status,
            "metric": None if metric is None else float(metric),
            "metric_epoch": None if metric_epoch is None else int(metric_epoch),
            "error": error,
            "seconds": None if seconds is None else float(seconds),
            "time": time.time(),
            "checksum": None,
        }
        with self._guard:
            if self._is_open(key):
                self._ended.add(key)
                parts = self._parts.pop(key, None)
                if parts is not None:
                    record["checksum"] = of_trial(key, parts.values(), status, record["metric"], record["metric_epoch"])
                self._buffer.end(key, record)
                self._flush_if_due(at_once=self._flush_ends)

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

    def watch(self) -> None:
        """Look at the database from time to time while trials run: raises StoreError if it was deleted or replaced, or
        if another sweep has taken over the study."""
        with self._guard:
            now = self._clock()
            if self._gave_up is None and now - max(self._flushed_at, self._watched_at) >= WATCH_EVERY:
                self._watched_at = now
                self._check()

    def close(self) -> None:
        """Write the rest of the buffer."""
        if self._gave_up is None:
            self.flush()
            self._check()

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
        columns = (*(trials.c[name] for name in TrialKey._fields), trials.c.id, trials.c.status)
        with self._database.read() as connection:
            for *key, row, status in connection.execute(select(*columns).where(trials.c.study == self._study)):
                self._ids[TrialKey(*key)] = row
                if status in ENDED:
                    self._ended.add(TrialKey(*key))

    def _load_spill(self) -> None:
        """Save the results that an earlier writer left in its spill file, then remove the file.

        If another writer has been there since, only trials of which the file contains everything are saved.
        """
        latest, self._fence.previous = (self._fence.token, self._fence.previous), None
        if not self.spill.exists():
            return
        spill = read_spill(self.spill, self._head)
        for key, records in spill.buffer.trials():
            if self._is_open(key) and (spill.writer in latest or records.complete):
                self._buffer.put(key, records)
                if records.ended is not None:
                    self._ended.add(key)
        self.flush()
        if spill.damaged:
            damaged = self.spill.with_name(f"{self.spill.name}.damaged")
            self.spill.replace(damaged)
            raise StoreError(
                f"{str(self.spill)!r}, which contained unsaved results, was damaged: {spill.trials - spill.damaged} "
                f"of {spill.trials} trials in it were saved, and the next run repeats the others; the file is now "
                f"{str(damaged)!r}"
            )
        self.spill.unlink(missing_ok=True)

    def _flush_if_due(self, at_once: bool = False) -> None:
        if isinstance(self._gave_up, TakenOverError):
            return
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
            with self._fence.transaction() as connection:
                save(connection, self._buffer, self._ids)
        except SQLAlchemyError as error:
            now = self._clock()
            self._away_since = now if self._away_since is None else self._away_since
            left = self._patience - (now - self._away_since)
            if not _is_transient(error) or left <= 0:
                reason = f"cannot be written ({complaint(error, self._database.url)})"
                raise self._give_up(f"store {self._database.shown!r} {reason}") from None
            self._retry_at = now + min(self._pause, left)
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            return False
        except TakenOverError as error:
            raise self._stop(error) from None
        except ReplacedError as error:
            raise self._leave(error) from None
        self._buffer = Buffer()
        self._flushed_at, self._away_since, self._pause = self._clock(), None, FIRST_PAUSE
        return True

    def _check(self) -> None:
        """Raise StoreError if the study is no longer this writer's, or no longer there."""
        try:
            self._fence.check()
        except SQLAlchemyError:
            pass  # An outage matters only to what is to be written.
        except TakenOverError as error:
            raise self._stop(error) from None
        except ReplacedError as error:
            raise self._leave(error) from None

    def _stop(self, error: TakenOverError) -> StoreError:
        """Another sweep computes all trials that have not ended: unsaved results are dropped."""
        self._buffer = Buffer()
        self._gave_up = error
        return error

    def _leave(self, error: ReplacedError) -> StoreError:
        """Save what is still within reach of a database that is gone."""
        copy = rescue(self._database)
        if copy is None or self._database.file is None:
            return self._give_up(str(error))
        path = str(self._database.file.path)
        return self._give_up(f"{error}; its contents are saved in {str(copy)!r}: to go on, rename that to {path!r}")

    def _give_up(self, reason: str) -> StoreError:
        """Write unsaved results to a file and describe the situation in one line."""
        place = self._write_spill() if self._buffer else None
        if place == self.spill:
            reason += f"; unsaved results are in {str(place)!r}, which the next run loads"
        elif place is not None:
            reason += f"; unsaved results are in {str(place)!r}: move it to {str(self.spill)!r} before the next run"
        self._gave_up = StoreError(reason)
        return self._gave_up

    def _write_spill(self) -> Path:
        """Write unsaved results beside the store, or else to the folder for temporary files; returns the file."""
        reason = ""
        for path in (self.spill, Path(tempfile.gettempdir()) / self.spill.name):
            try:
                write_spill(path, self._head, self._fence.token, self._buffer)
                return path
            except OSError as error:
                reason = reason or error.strerror or str(error)
        lost = StoreError(
            f"store {self._database.shown!r} cannot be written, and neither can {str(self.spill)!r} ({reason}): "
            f"{len(self._buffer)} results are lost and will be recomputed"
        )
        self._gave_up = lost
        raise lost


def _is_transient(error: SQLAlchemyError) -> bool:
    """Whether the error may go away: a database that is locked, restarting, unreachable or full, but not dropped."""
    if _DROPPED.search(str(error.args[0] if error.args else "")):
        return False
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
