"""A study copied from one store to another, with every row that belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Select, Table, delete, insert, select, text

from robustness.errors import StoreError
from robustness.store.checksums import of_json
from robustness.store.schema import configurations, curves, epochs, notes, predictions, studies, trials

CHUNK = 5_000
"""The number of rows that are held in memory at a time."""


def copy_study(source: Connection, study: int, target: Connection, name: str, replace: bool) -> None:
    """Copy a study by its row under a name.

    Raises StoreError if the target has a study of that name, unless it is to be replaced and is the same study.
    """
    if target.dialect.name == "postgresql":
        target.execute(text("SELECT pg_advisory_xact_lock(hashtext('robustness register'))"))
    row = dict(source.execute(select(studies).where(studies.c.id == study)).mappings().one())
    document = {**row["document"], "name": name}
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
    del row["id"]
    row |= {"name": name, "document": document, "writer": None, "checksum": of_json(document)}
    new = int(target.execute(insert(studies).values(**row).returning(studies.c.id)).scalar_one())
    for table in (configurations, notes):
        for rows in _chunks(source, select(table).where(table.c.study == study)):
            target.execute(insert(table), [{**each, "study": new} for each in rows])
    ids: dict[int, int] = {}
    statement = insert(trials).returning(trials.c.id, sort_by_parameter_order=True)
    for rows in _chunks(source, select(trials).where(trials.c.study == study).order_by(trials.c.id)):
        old = [each.pop("id") for each in rows]
        ids.update(zip(old, target.scalars(statement, [{**each, "study": new} for each in rows]), strict=True))
    for table in (epochs, curves, predictions):
        for rows in _chunks(source, _of_study(table, study)):
            target.execute(insert(table), [{**each, "trial": ids[each["trial"]]} for each in rows])


def _of_study(table: Table, study: int) -> Select[Any]:
    return select(table).join(trials, trials.c.id == table.c.trial).where(trials.c.study == study)


def _chunks(connection: Connection, statement: Select[Any]) -> Iterator[list[dict[str, Any]]]:
    result = connection.execute(statement.execution_options(yield_per=CHUNK))
    for rows in result.mappings().partitions():
        yield [dict(row) for row in rows]
