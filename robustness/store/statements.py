"""The statements that put a buffer of results into the tables. Running them twice changes nothing."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Insert, Table, bindparam, delete, or_, select, update

from robustness.store import encoding
from robustness.store.buffer import Buffer, Record
from robustness.store.schema import MEASURES, curves, epochs, predictions, trials
from robustness.trial import PENDING, Status, TrialKey


def upsert(dialect: str, table: Table) -> Insert:
    """An insert of whole rows that replaces rows with the same primary key."""
    insert: Any = importlib.import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    keys = [column.name for column in table.primary_key]
    values = {column.name: insert.excluded[column.name] for column in table.c if column.name not in keys}
    statement: Insert = insert.on_conflict_do_update(index_elements=keys, set_=values)
    return statement


def save(connection: Connection, buffer: Buffer, ids: Mapping[TrialKey, int]) -> None:
    """Write the buffer in the caller's transaction; `ids` maps each trial to its row."""
    _save_started(connection, [(ids[key], record) for key, record in buffer.started.items()])
    rows = [(ids[key], record) for (key, _), record in buffer.epochs.items()]
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
    _save_ended(connection, [(ids[key], record) for key, record in buffer.ended.items()])


def reopen(connection: Connection, study: int, statuses: Collection[Status]) -> int:
    """Reset trials with these statuses to planned, delete their results, and return their number."""
    chosen = (trials.c.study == study) & trials.c.status.in_(statuses)
    for table in (epochs, curves, predictions):
        connection.execute(delete(table).where(table.c.trial.in_(select(trials.c.id).where(chosen))))
    cleared = dict.fromkeys(("started", "ended", "seconds", "worker", "device", "error", "metric", "metric_epoch"))
    return connection.execute(update(trials).where(chosen).values(status="planned", attempts=0, **cleared)).rowcount


def _put(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(upsert(connection.dialect.name, table), rows)


def _save_started(connection: Connection, records: list[tuple[int, Record]]) -> None:
    if not records:
        return
    open_trial = select(trials.c.id).where(_is_open())
    for table in (epochs, curves):
        connection.execute(
            delete(table).where(table.c.trial.in_(open_trial)), [{"of_trial": row} for row, _ in records]
        )
    _update_open(
        connection,
        [
            {
                "of_trial": trial,
                "status": "running",
                "attempts": record["attempt"],
                "started": record["time"],
                "worker": encoding.text(record["worker"]),
                "device": encoding.text(record["device"]),
            }
            for trial, record in records
        ],
    )


def _save_ended(connection: Connection, records: list[tuple[int, Record]]) -> None:
    _update_open(
        connection,
        [
            {
                "of_trial": trial,
                "status": record["status"],
                "ended": record["time"],
                "seconds": record["seconds"],
                "error": encoding.text(record["error"]),
                "metric": record["metric"],
                "metric_epoch": record["metric_epoch"],
            }
            for trial, record in records
        ],
    )


def _update_open(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Update trials that have not ended; all rows have the same keys."""
    if rows:
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
