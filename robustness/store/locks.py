"""One sweep at a time for a study: a lock that its holder's end, even by SIGKILL, always gives back."""

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
    """Holds the study's lock; raises StoreError at once if another process has it.

    SQLite: a lock file beside the database. PostgreSQL: an advisory lock of a connection of its own. In memory: none.
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
        "`robustness status` shows how far it is"
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
        raise StoreError(f"cannot make the lock file {str(path)!r}: {error.strerror or error}") from error
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
        # The server gives the lock back when its connection ends, so it is ended and not returned to the pool.
        connection.invalidate()
        connection.close()
