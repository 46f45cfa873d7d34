"""The fence of a study: only the sweep that took it last can write.

Whoever locks a study also puts a fresh token into its row. Every transaction that writes first reads the token there,
and keeps it from changing until the transaction ends. A sweep that lost its lock, and whose study another sweep has
taken since, finds a strange token and stops before it writes anything.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, select, update

from robustness.errors import ReplacedError, TakenOverError
from robustness.store.connection import Database
from robustness.store.locks import StudyLock
from robustness.store.schema import studies


class Fence:
    """The right to write one study; `claim` takes it."""

    def __init__(self, database: Database, row: int, name: str, created: float) -> None:
        self._database = database
        self._row = row
        self._name = name
        self._created = created
        self.lock: StudyLock | None = None
        """The study's lock while it is held, which every transaction renews if it was lost."""
        self.token: str | None = None
        """The token that this process has put into the study's row; None before `claim`."""
        self.previous: str | None = None
        """The token that `claim` replaced."""

    def claim(self) -> None:
        """Take the study, so that every other process stops at its next attempt to write."""
        token = uuid.uuid4().hex
        with self._database.write() as connection:
            self.previous = self._token_in(connection)
            connection.execute(update(studies).where(studies.c.id == self._row).values(writer=token))
        self.token = token

    def release(self) -> None:
        """Write no more under the current token."""
        self.token = self.lock = None

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that writes.

        Raises TakenOverError if another process has claimed the study, ReplacedError if the database no longer holds
        it, and the driver's errors.
        """
        if self._database.file is not None:
            self._database.file.check()
        if self.lock is not None and not self.lock.renew():
            raise self._taken_over()
        with self._database.engine.begin() as connection:
            self._check(connection)
            yield connection

    def check(self) -> None:
        """Raise what `transaction` would raise about the study and its database, without writing."""
        if self._database.file is not None:
            self._database.file.check()
        with self._database.engine.execution_options(reading=True).begin() as connection:
            self._check(connection, keep=False)

    def _check(self, connection: Connection, keep: bool = True) -> None:
        token = self._token_in(connection, keep)
        if self.token is not None and token != self.token:
            raise self._taken_over()

    def _token_in(self, connection: Connection, keep: bool = True) -> str | None:
        """The token in the study's row; with `keep` it stays there until the transaction ends."""
        statement = select(studies.c.created, studies.c.writer).where(studies.c.id == self._row)
        # Not a lock against inserts of rows that refer to the study.
        found = connection.execute(statement.with_for_update(key_share=True) if keep else statement).first()
        if found is None or found.created != self._created:
            raise ReplacedError(
                f"study {self._name!r} is no longer in store {self._database.shown!r}: the database was emptied or "
                "replaced while it was in use"
            )
        return None if found.writer is None else str(found.writer)

    def _taken_over(self) -> TakenOverError:
        return TakenOverError(
            f"another sweep took over the study {self._name!r} in store {self._database.shown!r}; this one has "
            "stopped, and nothing that it had not saved by then was added"
        )
