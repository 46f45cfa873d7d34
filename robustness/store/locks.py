"""The lock of a study, which allows one sweep at a time and is released when its process ends, even by SIGKILL."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError

from robustness.errors import StoreError
from robustness.store.connection import Database, file_beside, sqlite_file


@contextmanager
def sweep_lock(database: Database, study: str) -> Iterator[None]:
    """Hold the study's lock; raises StoreError immediately if another process holds it.

    SQLite uses a lock file next to the database, PostgreSQL an advisory lock on a separate connection; a store in
    memory needs none.
    """
    if database.dialect == "postgresql":
        with _advisory_lock(database, study):
            yield
    elif sqlite_file(database.url) is None:
        yield
    else:
        with _file_lock(database, study):
            yield


def _taken(database: Database, study: str) -> StoreError:
    return StoreError(
        f"another sweep of study {study!r} is running in store {database.shown!r}: wait for it or stop it; "
        "`robustness status` shows its progress"
    )


@contextmanager
def _file_lock(database: Database, study: str) -> Iterator[None]:
    path = file_beside(database.url, f"{study}.lock")
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise _taken(database, study) from None
    except OSError as error:
        raise StoreError(f"cannot create the lock file {str(path)!r}: {error.strerror or error}") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _advisory_lock(database: Database, study: str) -> Iterator[None]:
    digest = hashlib.sha256(f"robustness sweep {study}".encode()).digest()
    key = int.from_bytes(digest[:8], "big", signed=True)
    try:
        connection = database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    except SQLAlchemyError as error:
        raise database.failure(error) from None
    try:
        try:
            held = connection.scalar(select(func.pg_try_advisory_lock(key)))
        except SQLAlchemyError as error:
            raise database.failure(error) from None
        if not held:
            raise _taken(database, study)
        yield
    finally:
        # The server releases the lock when the connection closes, so it must not return to the pool.
        connection.invalidate()
        connection.close()
