"""The statements that put a buffer of results into the tables. Running them twice changes nothing."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Insert, Table, bindparam, delete, or_, select, update

from robustness.store import encoding
from robustness.store.buffer import Buffer, Record, TrialRecords
from robustness.store.schema import MEASURES, curves, epochs, predictions, trials
from robustness.trial import PENDING, Status, TrialKey

CHUNK = 10_000
"""The number of rows that one statement may name."""


REOPENED: Mapping[str, Any] = {
    **dict.fromkeys(
        ("started", "ended", "seconds", "worker", "device", "error", "metric", "metric_epoch", "checksum"), None
    ),
    "status": "planned",
    "attempts": 0,
}
"""The columns of a trial as they were before it first started."""


def upsert(dialect: str, table: Table) -> Insert:
    """An insert of whole rows that replaces rows with the same primary key."""
    insert: Any = importlib.import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    keys = [column.name for column in table.primary_key]
    values = {column.name: insert.excluded[column.name] for column in table.c if column.name not in keys}
    statement: Insert = insert.on_conflict_do_update(index_elements=keys, set_=values)
    return statement


def save(connection: Connection, buffer: Buffer, ids: Mapping[TrialKey, int]) -> None:
    """Write the buffer in the caller's transaction; `ids` maps each trial to its row."""
    trials = [(ids[key], records) for key, records in buffer.trials()]
    _discard(connection, [trial for trial, records in trials if records.started is not None])
    rows = [(trial, record) for trial, records in trials for record in records.epochs.values()]
    _put(connection, epochs, [_epoch_row(trial, record) for trial, record in rows])
    _put(
        connection,
        curves,
        [
            {"trial": trial, "epoch": record["epoch"], "name": name, "values": values}
            for trial, record in rows
            for name, values in record["curves"].items()
        ],
    )
    # A trial that started and ended since the last time is updated once.
    changes = [{"of_trial": trial, **_started(records), **_ended(records)} for trial, records in trials]
    for names in dict.fromkeys(map(tuple, changes)):
        _update_open(connection, [row for row in changes if tuple(row) == names])


def reopen(
    connection: Connection, study: int, statuses: Collection[Status], arms: Collection[str] | None = None
) -> int:
    """Reset trials with these statuses, of all arms or some, to planned, delete their results, return the count."""
    chosen = (trials.c.study == study) & trials.c.status.in_(statuses)
    if arms is not None:
        chosen &= trials.c.arm.in_(arms)
    for table in (epochs, curves, predictions):
        connection.execute(delete(table).where(table.c.trial.in_(select(trials.c.id).where(chosen))))
    return connection.execute(update(trials).where(chosen).values(**REOPENED)).rowcount


def _put(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(upsert(connection.dialect.name, table), rows)


def _discard(connection: Connection, started: Sequence[int]) -> None:
    """Delete the epochs that open trials have of an earlier attempt, which most have not."""
    for table in (epochs, curves):
        for place in range(0, len(started), CHUNK):
            is_old = table.c.trial.in_(started[place : place + CHUNK]) & trials.c.status.in_(PENDING)
            old = select(table.c.trial).join(trials, trials.c.id == table.c.trial).where(is_old).distinct()
            rows = connection.scalars(old).all()
            if rows:
                connection.execute(delete(table).where(table.c.trial.in_(rows)))


def _started(records: TrialRecords) -> dict[str, Any]:
    """The columns that the start of a trial changes, if it has one."""
    record = records.started
    if record is None:
        return {}
    return {
        "status": "running",
        "attempts": record["attempt"],
        "started": record["time"],
        "worker": encoding.text(record["worker"]),
        "device": encoding.text(record["device"]),
    }


def _ended(records: TrialRecords) -> dict[str, Any]:
    """The columns that the end of a trial changes, if it has one."""
    record = records.ended
    if record is None:
        return {}
    return {
        "status": record["status"],
        "ended": record["time"],
        "seconds": record["seconds"],
        "error": encoding.text(record["error"]),
        "metric": record["metric"],
        "metric_epoch": record["metric_epoch"],
        "checksum": record["checksum"],
    }


def _update_open(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Update trials that have not ended; all rows have the same keys."""
    if len(rows[0]) > 1:
        changes: dict[str, Any] = {name: bindparam(f"new_{name}") for name in rows[0] if name != "of_trial"}
        named = [{name if name == "of_trial" else f"new_{name}": row[name] for name in row} for row in rows]
        connection.execute(update(trials).where(_is_open()).values(changes), named)


def _is_open() -> ColumnElement[bool]:
    # Not `IN`, whose expanding parameters cannot be used in a statement that is executed for many rows.
    return (trials.c.id == bindparam("of_trial")) & or_(*(trials.c.status == status for status in PENDING))


def _epoch_row(trial: int, record: Record) -> dict[str, Any]:
    measures = record["measures"]
    other = {name: value for name, value in measures.items() if name not in MEASURES}
    return {
        "trial": trial,
        "epoch": record["epoch"],
        "pretraining": record["pretraining"],
        "seconds": record["seconds"],
        **{name: measures.get(name) for name in MEASURES},
        "measures": other or None,
    }
