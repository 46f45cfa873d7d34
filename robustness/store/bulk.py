"""Ended trials written at once, in the transaction that registers their study: for results made elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Connection, delete, insert, select, text

from robustness.errors import StoreError
from robustness.store import encoding
from robustness.store.checksums import of_json
from robustness.store.consistency import trial_checksums
from robustness.store.registering import StudyLike, insert_study
from robustness.store.schema import MEASURES, configurations, epochs, studies, trials
from robustness.trial import IMPORTED

CHUNK = 20_000
"""The number of rows that are held as Python objects at a time."""


@dataclass(frozen=True)
class EndedTrials:
    """Trials with their results."""

    frame: pd.DataFrame
    """One row for each: configuration, arm, replicate, task, status, started, ended, seconds, metric, metric_epoch."""
    epochs: pd.DataFrame
    """`run` (a row of `frame`), `epoch`, and a column for each measure."""
    configurations: Sequence[Mapping[str, Any]]


def save_ended(connection: Connection, study: StudyLike, ended: EndedTrials, replace: bool) -> None:
    """Write the study; the same content again changes nothing, and other content of that name is refused.

    With `replace`, an imported study of that name is deleted first.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('robustness register'))"))
    stored = connection.execute(
        select(studies.c.id, studies.c.hash, studies.c.document).where(studies.c.name == study.name)
    ).one_or_none()
    if stored is not None:
        if stored.document.get("trainable") != IMPORTED:
            raise StoreError(f"study {study.name!r} is in the store and was not imported: choose another name")
        if stored.hash == study.hash:
            return
        if not replace:
            raise StoreError(
                f"study {study.name!r} was imported before, from {_source(stored.document)}, with other runs or other "
                "options: replace it with --replace, or choose another name"
            )
        connection.execute(delete(studies).where(studies.c.id == stored.id))
    row = insert_study(connection, study, encoding.loads(encoding.dumps(study.document())))
    connection.execute(
        insert(configurations),
        [
            {"study": row, "number": number, "hyperparameters": dict(values), "checksum": of_json(dict(values))}
            for number, values in enumerate(ended.configurations)
        ],
    )
    ids = _insert_trials(connection, row, ended)
    for rows in _epoch_rows(ended.epochs, ids):
        connection.execute(insert(epochs), rows)


def _source(document: Mapping[str, Any]) -> str:
    return repr(str((document.get(IMPORTED) or {}).get("source", "a file")))


def _insert_trials(connection: Connection, study: int, ended: EndedTrials) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Insert the trials and return the row of each."""
    frame = ended.frame
    checksums = trial_checksums(frame, _measured(ended.epochs), ended.epochs["run"].to_numpy())
    names = ["configuration", "arm", "replicate", "task", "status", "started", "ended", "seconds", "metric"]
    rows = [
        {
            "study": study,
            **dict(zip(names, values, strict=True)),
            "position": position,
            "stage": "sweep",
            "attempts": 1,
            "metric_epoch": epoch,
            "checksum": checksum,
        }
        for position, (*values, epoch, checksum) in enumerate(
            zip(*(_plain(frame[name]) for name in names), _plain(frame["metric_epoch"]), checksums, strict=True)
        )
    ]
    statement = insert(trials).returning(trials.c.id, sort_by_parameter_order=True)
    ids = [
        row
        for start in range(0, len(rows), CHUNK)
        for row in connection.scalars(statement, rows[start : start + CHUNK])
    ]
    return np.array(ids, dtype=np.int64)


def _measured(rows: pd.DataFrame) -> pd.DataFrame:
    """The epochs as `robustness.store.consistency` reads them."""
    taken = ("configuration", "arm", "replicate", "task", "epoch", "pretraining", "seconds", "measures")
    measures = rows.drop(columns=["run", "epoch"])
    renamed = measures.rename(columns=lambda name: f"measure_{name}" if name in taken else name)
    return renamed.assign(epoch=rows["epoch"], pretraining=False)


def _plain(column: pd.Series[Any]) -> list[Any]:
    """The values as Python's own, None where there is none; whole numbers of a column of floats stay floats."""
    values = column.tolist()
    if column.name == "metric_epoch":
        return [None if value != value or value is pd.NA else int(value) for value in values]
    if column.dtype.kind == "f":
        return [None if math.isnan(value) else value for value in values]
    return values


def _epoch_rows(rows: pd.DataFrame, ids: np.ndarray[Any, np.dtype[np.int64]]) -> Iterator[list[dict[str, Any]]]:
    """The rows of the table of epochs, in chunks."""
    names = [str(name) for name in rows.columns if name not in ("run", "epoch")]
    usual, other = [name for name in names if name in MEASURES], [name for name in names if name not in MEASURES]
    for start in range(0, len(rows), CHUNK):
        part = rows.iloc[start : start + CHUNK]
        columns = {name: part[name].tolist() for name in names}
        chunk: list[dict[str, Any]] = [
            {"trial": trial, "epoch": epoch, "pretraining": False, "seconds": 0.0}
            for trial, epoch in zip(ids[part["run"].to_numpy()].tolist(), part["epoch"].tolist(), strict=True)
        ]
        for name in usual:
            for row, value in zip(chunk, columns[name], strict=True):
                row[name] = value
        if other:
            for row, values in zip(chunk, zip(*(columns[name] for name in other), strict=True), strict=True):
                # A measure that was not taken in an epoch is NaN beside those that were.
                several = len(other) > 1
                row["measures"] = {
                    name: value for name, value in zip(other, values, strict=True) if not several or value == value
                }
        yield chunk
