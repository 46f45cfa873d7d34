"""The lock of a study, which allows one sweep at a time and is released when its process ends, even by SIGKILL.

A lock can be lost while its sweep runs: PostgreSQL's with its connection, SQLite's with its file. `renew` takes it
again; until then another sweep may have taken it, against which `robustness.store.fence` protects the results.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from sqlalchemy import BigInteger, Connection, Text, cast, column, func, select, table
from sqlalchemy.exc import SQLAlchemyError

from robustness.errors import StoreError
from robustness.store.connection import Database, file_beside

GRACE = 0.2
"""Seconds for which an SQLite lock is tried again: `is_locked` in another process may hold it for an instant."""


class StudyLock(Protocol):
    """A lock that is held, or was."""

    def renew(self) -> bool:
        """Take the lock again if it was lost; returns False if another process has it."""
        ...

    def release(self) -> None: ...


@contextmanager
def sweep_lock(database: Database, study: str) -> Iterator[StudyLock]:
    """Hold the study's lock; raises StoreError immediately if another process holds it.

    SQLite uses a lock file next to the database, PostgreSQL an advisory lock on a separate connection.
    """
    lock: StudyLock = (
        _AdvisoryLock(database, study)
        if database.file is None
        else _LockFile(file_beside(database.url, f"{study}.lock"))
    )
    try:
        with database.errors_translated():
            taken = lock.renew()
        if not taken:
            raise StoreError(
                f"another sweep of study {study!r} is running in store {database.shown!r}: wait for it or stop it; "
                "`robustness status` shows its progress"
            )
        yield lock
    finally:
        lock.release()


def is_locked(database: Database, study: str) -> bool:
    """Whether a process holds the study's lock, which says that its sweep runs; nothing that is held is disturbed."""
    if database.dialect != "sqlite":
        return _is_advisory_lock_held(database, study)
    try:
        descriptor = os.open(file_beside(database.url, f"{study}.lock"), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_advisory_lock_held(database: Database, study: str) -> bool:
    key = _advisory_key(study) % 2**64
    locks = table("pg_locks", *(column(name) for name in ("locktype", "database", "classid", "objid", "objsubid")))
    databases = table("pg_database", column("oid", BigInteger), column("datname", Text))
    here = select(databases.c.oid).where(databases.c.datname == func.current_database())
    held = select(func.count()).where(
        locks.c.locktype == "advisory",
        locks.c.database == here.scalar_subquery(),
        # The server shows a key of 64 bits as two of 32.
        cast(locks.c.classid, BigInteger) == key >> 32,
        cast(locks.c.objid, BigInteger) == key & 0xFFFFFFFF,
        locks.c.objsubid == 1,
    )
    with database.read() as connection:
        return bool(connection.scalar(held))


def _advisory_key(study: str) -> int:
    digest = hashlib.sha256(f"robustness sweep {study}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class _LockFile:
    """A file lock, which is lost when somebody deletes or replaces the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: FileLock | None = None
        self._identity: tuple[int, int] | None = None

    def renew(self) -> bool:
        if self._identity is not None and self._identity == self._found():
            return True
        self.release()
        # A fresh object, since one that was acquired remembers its file.
        lock = FileLock(self._path, thread_local=False)
        try:
            lock.acquire(timeout=GRACE, poll_interval=GRACE / 10)
        except Timeout:
            return False
        except OSError as error:
            raise StoreError(f"cannot create the lock file {str(self._path)!r}: {error.strerror or error}") from error
        self._lock, self._identity = lock, self._found()
        return True

    def release(self) -> None:
        if self._lock is not None:
            with suppress(OSError):
                self._lock.release()
        self._lock = self._identity = None

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


class _AdvisoryLock:
    """PostgreSQL's advisory lock, which the server releases with the connection."""

    def __init__(self, database: Database, study: str) -> None:
        self._key = _advisory_key(study)
        self._database = database
        self._connection: Connection | None = None

    def renew(self) -> bool:
        """As above; raises SQLAlchemyError if the server cannot be reached."""
        if self._connection is not None:
            try:
                self._connection.scalar(select(1))
                return True
            except SQLAlchemyError:
                self.release()
        connection = self._database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            held = bool(connection.scalar(select(func.pg_try_advisory_lock(self._key))))
        except BaseException:
            _close(connection)
            raise
        if not held:
            _close(connection)
            return False
        self._connection = connection
        return True

    def release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # The server notices a closed connection only after a while.
            with suppress(SQLAlchemyError):
                connection.scalar(select(func.pg_advisory_unlock(self._key)))
            _close(connection)


def _close(connection: Connection) -> None:
    """Close a connection for good: returned to the pool, it would keep the lock."""
    with suppress(SQLAlchemyError):
        connection.invalidate()
    connection.close()
