"""Studies copied from one store to another: rows as they are, under new numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, insert, select, text, true

from robustness.errors import StoreError
from robustness.store.checksums import of_json, verified
from robustness.store.schema import configurations, curves, epochs, notes, predictions, studies, trials

CHUNK = 5_000
"""The number of rows that are held in memory at a time."""
OF_TRIAL = (epochs, curves, predictions)


def copy_study(source: Connection, study: int, target: Connection, name: str, replace: bool) -> None:
    """Copy a study by its row under a name, with everything that belongs to it.

    Raises StoreError if the study's document is damaged, or if the target has a study of that name, unless it is to be
    replaced and is the same study.
    """
    if target.dialect.name == "postgresql":
        target.execute(text("SELECT pg_advisory_xact_lock(hashtext('robustness register'))"))
    found = source.execute(select(studies.c.document, studies.c.checksum).where(studies.c.id == study)).one()
    document = {**verified(found.document, found.checksum, "the document of the study to copy"), "name": name}
    stored = target.execute(select(studies.c.id, studies.c.document).where(studies.c.name == name)).one_or_none()
    if stored is not None:
        if not replace:
            raise StoreError(
                f"study {name!r} is already in the store: replace it with --replace, or choose another name"
            )
        if {**stored.document, "name": name} != document:
            raise StoreError(
                f"study {name!r} in the store has other settings, so it is not replaced: choose another name"
            )
        target.execute(delete(studies).where(studies.c.id == stored.id))
    new = copy_plan(source, study, target, {"name": name, "document": document, "checksum": of_json(document)})
    copy_trials(source, study, target, new)


def copy_plan(
    source: Connection,
    study: int,
    target: Connection,
    changes: dict[str, Any] | None = None,
    leave_out: Sequence[str] = (),
) -> int:
    """Copy a study's row with changes, its configurations, and its notes but those left out; returns the new row."""
    row = dict(source.execute(select(studies).where(studies.c.id == study)).mappings().one())
    del row["id"]
    values = {**row, "writer": None, **(changes or {})}
    new = int(target.execute(insert(studies).values(**values).returning(studies.c.id)).scalar_one())
    of_study = [
        select(configurations).where(configurations.c.study == study),
        select(notes).where(notes.c.study == study, notes.c.name.not_in(leave_out)),
    ]
    for table, statement in zip((configurations, notes), of_study, strict=True):
        for rows in _chunks(source, statement.order_by(*table.primary_key)):
            target.execute(insert(table), [{**each, "study": new} for each in rows])
    return new


def copy_trials(
    source: Connection, study: int, target: Connection, new: int, part: ColumnElement[bool] | None = None
) -> None:
    """Copy the trials of a study with all of their results; only those for which `part` holds."""
    own = (trials.c.study == study) & (true() if part is None else part)
    ids: dict[int, int] = {}
    adding = insert(trials).returning(trials.c.id, sort_by_parameter_order=True)
    for rows in _chunks(source, select(trials).where(own).order_by(trials.c.id)):
        old = [each.pop("id") for each in rows]
        ids.update(zip(old, target.scalars(adding, [{**each, "study": new} for each in rows]), strict=True))
    for table in OF_TRIAL:
        results = select(table).join(trials, trials.c.id == table.c.trial).where(own).order_by(*table.primary_key)
        for rows in _chunks(source, results):
            target.execute(insert(table), [{**each, "trial": ids[each["trial"]]} for each in rows])


def _chunks(connection: Connection, statement: Select[Any]) -> Iterator[list[dict[str, Any]]]:
    result = connection.execute(statement.execution_options(yield_per=CHUNK))
    for rows in result.mappings().partitions():
        yield [dict(row) for row in rows]
