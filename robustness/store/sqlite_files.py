"""SQLite files: how they are opened, for writing or for reading alone, and whether a file is still the one opened.

A reader leaves no trace. It opens the file read-only, and without any lock if no log (`-wal`) lies beside it: then
nobody is writing, and SQLite would otherwise create a log of its own and leave it there. A sweep may start meanwhile,
so what was read without locks counts only if the file has not changed by the end of the transaction.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event

from robustness.errors import ReplacedError, StoreError

SQLITE_MARK = b"SQLite format 3\0"
"""The first bytes of every SQLite file that has content."""
BUSY_SECONDS = 10.0
"""How long a statement waits for another process to unlock an SQLite file."""
LARGEST_COPY = 2**30
"""The largest store of an older schema, in bytes, that is read from an upgraded copy in memory."""
LARGEST_CHECK = 2**26
"""The largest file, in bytes, whose structure is checked whenever it is opened."""


class SqliteFile:
    """The file behind an engine."""

    def __init__(self, path: Path, shown: str, reading: bool) -> None:
        self.path = path
        self._shown = shown
        self._reading = reading
        self._identity: tuple[int, int] | None = None
        self._unlocked: tuple[int, int] | None = None
        """Size and time of the file when it was opened without locks; None with locks."""

    def attach(self, engine: Engine) -> None:
        """Open and prepare all connections of an engine here."""
        event.listen(engine, "do_connect", self._choose_mode)
        event.listen(engine, "connect", self._prepare)
        event.listen(engine, "begin", begin)

    def uri(self) -> str:
        """The file as SQLite opens it now."""
        address = self.path.absolute().as_uri()
        if not self._reading:
            # Only the first connection may create the file: a later one would replace a deleted file by an empty one.
            return f"{address}?mode={'rwc' if self._identity is None else 'rw'}"
        log = self.path.with_name(f"{self.path.name}-wal")
        self._unlocked = None if log.exists() else stamp(self.path)
        return f"{address}?mode=ro{'' if self._unlocked is None else '&immutable=1'}"

    def check(self) -> None:
        """Raise ReplacedError unless the file is the one that was opened first."""
        if self._identity is None:
            return
        try:
            found = self.path.stat()
        except OSError as error:
            if isinstance(error, (FileNotFoundError, NotADirectoryError)):
                raise ReplacedError(f"store {self._shown!r} was deleted while it was in use") from None
            raise StoreError(f"store {self._shown!r}: {error.strerror or error}") from None
        if (found.st_dev, found.st_ino) != self._identity:
            raise ReplacedError(f"store {self._shown!r} was replaced by another file while it was in use")

    def is_in_place(self) -> bool:
        """Whether `check` finds nothing wrong."""
        try:
            self.check()
        except ReplacedError:
            return False
        return True

    def check_unchanged(self) -> None:
        """Raise StoreError if the file was read without locks and has changed since."""
        if self._unlocked is not None and stamp(self.path) != self._unlocked:
            raise StoreError(f"store {self._shown!r} changed while it was read: run the command again")

    def _choose_mode(self, _dialect: Any, _record: Any, words: list[Any], options: dict[str, Any]) -> None:
        self.check()
        words[:1] = [self.uri()]
        options["uri"] = True

    def _prepare(self, connection: Any, _record: Any) -> None:
        if self._identity is None:
            found = self.path.stat()
            self._identity = found.st_dev, found.st_ino
        prepare(connection, _record)


def stamp(path: Path) -> tuple[int, int] | None:
    """The size and time of a file; None if it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def prepare(connection: Any, _record: Any) -> None:
    """Set up a new connection; as SQLAlchemy recommends, `begin` begins transactions instead of the driver."""
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=NORMAL")


def begin(connection: Connection) -> None:
    """Begin a transaction."""
    # A read lock cannot be upgraded while another process writes, so a writer takes the write lock immediately.
    options = connection.get_execution_options()
    reading = options.get("reading", False)
    if options.get("rebuilding", False):
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def check_path(path: Path, shown: str, create: bool) -> None:
    """Raise StoreError unless a store can be opened at this path, or created there."""
    try:
        if not path.parent.is_dir():
            raise StoreError(f"store {shown!r}: the folder {str(path.parent)!r} does not exist")
        kind = path.stat().st_mode
        path.absolute()
    except FileNotFoundError:
        if create:
            return
        raise StoreError(
            f"store {shown!r} does not exist: run a sweep or an import first, or name another one with --store"
        ) from None
    except (OSError, ValueError) as error:
        raise StoreError(f"store {shown!r}: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(kind):
        raise StoreError(f"store {shown!r}: {str(path)!r} is a folder, not a database file")
    if not stat.S_ISREG(kind):
        # Opening a named pipe would wait for ever.
        raise StoreError(f"store {shown!r}: {str(path)!r} is not a regular file")
    if not os.access(path, os.R_OK):
        raise StoreError(f"store {shown!r}: {str(path)!r} cannot be read: permission denied")
    with path.open("rb") as file:
        start = file.read(len(SQLITE_MARK))
    if start and start != SQLITE_MARK:
        raise StoreError(f"store {shown!r}: {str(path)!r} is not a database; choose another file with --store")


def check_structure(connection: Connection, path: Path, shown: str) -> None:
    """Raise StoreError if the pages of the file do not fit together; of large files only the size is checked."""
    size = path.stat().st_size
    found = "ok"
    if size % int(connection.exec_driver_sql("PRAGMA page_size").scalar() or 1):
        # SQLite would read zeros in place of the missing bytes.
        found = "its last page is incomplete"
    elif size <= LARGEST_CHECK:
        found = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar())
    if found != "ok":
        raise StoreError(
            f"store {shown!r} is damaged ({' '.join(found.split())}): restore a copy of it, or extract what is "
            f"readable with `sqlite3 {path} .recover`"
        )


def copy_to_memory(file: SqliteFile, shown: str, revision: str) -> sqlite3.Connection:
    """A copy of the file in memory; raises StoreError if it is too large."""
    size = file.path.stat().st_size
    if size > LARGEST_COPY:
        raise StoreError(
            f"store {shown!r} has an older schema ({revision}) and is too large ({size / 2**30:.1f} GiB) to be read "
            "without being upgraded: run `robustness sweep` or `robustness optimize` on it once, which upgrades it"
        )
    copy = sqlite3.connect(":memory:", check_same_thread=False)
    source = sqlite3.connect(file.uri(), uri=True, timeout=BUSY_SECONDS)
    try:
        source.backup(copy)
    finally:
        source.close()
    file.check_unchanged()
    return copy


def use_write_ahead_log(engine: Engine) -> None:
    """Let readers and a writer work at the same time; the setting is stored in the file. Raises sqlite3.Error."""
    connection = engine.raw_connection()
    try:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                connection.cursor().execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                # For this statement SQLite does not wait for another process that executes it, too.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
    finally:
        connection.close()
