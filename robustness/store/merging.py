"""Copying parts of one study from several stores into another: rows as they are, under new numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, insert, select

from robustness.store.schema import configurations, curves, epochs, notes, predictions, studies, trials

CHUNK = 2_000
"""Rows that are held at a time."""
OF_TRIAL = (epochs, curves, predictions)
KEY = ("configuration", "arm", "replicate")


def copy_study(source: Connection, study: int, target: Connection, leave_out: Sequence[str] = ()) -> int:
    """Copy a study's row, configurations and notes, but those left out; returns its row in the target."""
    (row,) = source.execute(select(studies).where(studies.c.id == study))
    values = {**_values(row, studies), "writer": None}
    new = target.scalar(insert(studies).values(**values).returning(studies.c.id))
    for table in (configurations, notes):
        kept = table.c.study == study
        if table is notes:
            kept &= notes.c.name.not_in(leave_out)
        for rows in _chunks(source, table, kept):
            target.execute(insert(table), [{**_values(each, table), "study": new} for each in rows])
    return int(new)


def copy_trials(source: Connection, study: int, target: Connection, new: int, part: ColumnElement[bool]) -> None:
    """Copy the trials of a study for which `part` holds, with all of their results."""
    own = (trials.c.study == study) & part
    for rows in _chunks(source, trials, own):
        target.execute(insert(trials), [{**_values(each, trials), "study": new} for each in rows])
    key = [trials.c[name] for name in KEY]
    ids = {tuple(each[:-1]): each.id for each in target.execute(select(*key, trials.c.id).where(trials.c.study == new))}
    rows_of = {each.id: ids[tuple(each[:-1])] for each in source.execute(select(*key, trials.c.id).where(own))}
    for table in OF_TRIAL:
        in_part = table.c.trial.in_(select(trials.c.id).where(own))
        for rows in _chunks(source, table, in_part):
            target.execute(insert(table), [{**_values(each, table), "trial": rows_of[each.trial]} for each in rows])


def _values(row: Row[Any], table: Table) -> dict[str, Any]:
    """Return a row without its own number, which differs between databases."""
    return {name: value for name, value in row._mapping.items() if name != "id" or "id" not in table.c}


def _chunks(connection: Connection, table: Table, where: ColumnElement[bool]) -> Iterator[Sequence[Row[Any]]]:
    order = list(table.primary_key)
    yield from connection.execute(
        select(table).where(where).order_by(*order).execution_options(yield_per=CHUNK)
    ).partitions()
