"""A study as pandas frames, each read with one SQL statement.

`trials`: configuration, arm, replicate, task (empty in a study with one), one column for each hyperparameter, status,
stage, run, metric, metric_epoch, seconds, attempts, started, ended, worker, device, error, checksum; a hyperparameter
with such a name gets the prefix `hp_`.
`epochs`: configuration, arm, replicate, task, epoch, pretraining, seconds, the usual measures (NaN where not measured),
then every other measure; one with the name of a column gets the prefix `measure_`.
`curves`: configuration, arm, replicate, task, epoch, name, values (a list of floats).
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sqlalchemy import Column, Connection, Select, func, select, type_coerce
from sqlalchemy.types import NullType

from robustness.store.checksums import verified
from robustness.store.schema import MEASURES, configurations, curves, epochs, trials
from robustness.trial import TrialKey

CHUNK = 20_000
"""The number of rows that are held as Python objects at a time."""
TRIALS = 200
"""The number of trials whose epochs are read at a time."""

KEY_COLUMNS = TrialKey._fields
_KEY = tuple(trials.c[name] for name in KEY_COLUMNS)
_STATE = (
    *("status", "stage", "run", "metric", "metric_epoch", "seconds"),
    *("attempts", "started", "ended", "worker", "device", "error", "checksum"),
)
EPOCH_COLUMNS = ("epoch", "pretraining", "seconds", *MEASURES)
_EPOCH_NAMES = {*KEY_COLUMNS, *EPOCH_COLUMNS, "measures"}
_EXACT_KEYS = {"configuration": "int64", "arm": "str", "replicate": "int64", "task": "str"}


def trials_frame(connection: Connection, study: int) -> pd.DataFrame:
    """Every trial of the study, in the plan's order."""
    drawn = (configurations.c.study == trials.c.study) & (configurations.c.number == trials.c.configuration)
    seal = configurations.c.checksum.label("hyperparameters_checksum")
    statement = (
        select(
            *_KEY,
            *(trials.c[name] for name in _STATE),
            *(trials.c.own, trials.c.own_checksum, seal, configurations.c.hyperparameters),
        )
        .join(configurations, drawn)
        .where(trials.c.study == study)
        .order_by(trials.c.position, trials.c.id)
    )
    names = [column.name for column in statement.selected_columns]
    parts = [_spread(_checked(rows), names, "hyperparameters", "hp_") for rows in _chunks(connection, statement)]
    frame = pd.concat(parts, ignore_index=True)
    if frame.duplicated(list(KEY_COLUMNS)).any():
        raise ValueError("a trial occurs twice")
    frame[["metric", "seconds"]] = frame[["metric", "seconds"]].astype("float64")
    texts = ["worker", "device", "error", "checksum"]
    frame[texts] = frame[texts].astype("string")
    whole = ["run", "metric_epoch"]
    frame[whole] = frame[whole].astype("Int64")
    for name in ("started", "ended"):
        frame[name] = pd.to_datetime(frame[name].astype("float64"), unit="s", utc=True)
    front = [column.name for column in _KEY]
    drawn_names = [name for name in frame.columns if name not in names]
    return frame[[*front, *drawn_names, *_STATE]]


def epochs_frame(connection: Connection, study: int) -> pd.DataFrame:
    """Every epoch of every trial of the study, trials in the plan's order."""
    ordered = select(trials.c.id, *_KEY).where(trials.c.study == study).order_by(trials.c.position, trials.c.id)
    keys = pd.DataFrame([tuple(row) for row in connection.execute(ordered)], columns=["id", *KEY_COLUMNS])
    ids = pd.Index(keys["id"], dtype="int64")
    measured = _measured(connection, study)
    columns = _numbers(connection, ids, [epochs.c[name] for name in ("trial", "epoch", *measured)])
    place = ids.get_indexer(pd.Index(columns.pop(0).astype("int64")))
    frame = keys.drop(columns="id").astype(_EXACT_KEYS).take(place).reset_index(drop=True)
    read = dict(zip(["epoch", *measured], columns, strict=True))
    unmeasured = np.full(len(frame), np.nan)
    values = {name: read.get(name, unmeasured) for name in EPOCH_COLUMNS}
    exact = {"epoch": values["epoch"].astype("int64"), "pretraining": values["pretraining"] != 0}
    further = _further_measures(connection, study, ids, place, exact["epoch"])
    return pd.concat([frame, pd.DataFrame({**values, **exact, **further}, copy=False)], axis="columns")


def _measured(connection: Connection, study: int) -> list[str]:
    """The columns of the study's epochs, beside the epoch itself, that have any value: the others are not read."""
    names = [name for name in EPOCH_COLUMNS if name != "epoch"]
    counts = select(*(func.count(epochs.c[name]) for name in names)).join(trials, trials.c.id == epochs.c.trial)
    return list(itertools.compress(names, connection.execute(counts.where(trials.c.study == study)).one()))


def _numbers(connection: Connection, ids: pd.Index[int], columns: Sequence[Column[Any]]) -> list[NDArray[np.float64]]:
    """Columns of the epochs of these trials, in their order, NaN for NULL; the first column is the trial's id.

    Rows come from the driver as tuples and are converted many at a time, which takes a third of the time of
    SQLAlchemy's rows.
    """
    raw = select(*(type_coerce(column, NullType()).label(column.name) for column in columns))
    # Grown in place: lists of parts would be there twice when they are joined.
    found = [array("d") for _ in columns]
    for first in range(0, len(ids), TRIALS):
        some = [int(number) for number in ids[first : first + TRIALS]]
        with connection.execute(raw.where(epochs.c.trial.in_(some)).order_by(epochs.c.trial, epochs.c.epoch)) as result:
            rows = result.cursor.fetchall()
        if rows:
            read = np.array(rows, dtype="float64")
            place = pd.Index(some).get_indexer(pd.Index(read[:, 0].astype("int64")))
            for column, values in zip(found, read[np.argsort(place, kind="stable")].T, strict=True):
                column.frombytes(values.tobytes())
    return [np.frombuffer(column) for column in found]


def _further_measures(
    connection: Connection, study: int, ids: pd.Index[int], place: NDArray[np.intp], epoch: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Each measure without a column of its own, NaN where an epoch lacks it.

    `place` and `epoch` are those of the rows to be filled: the trial's place among `ids`, and the epoch.
    """
    statement = (
        select(epochs.c.trial, epochs.c.epoch, epochs.c.measures)
        .join(trials, trials.c.id == epochs.c.trial)
        .where(trials.c.study == study, epochs.c.measures.is_not(None))
        .order_by(trials.c.position, trials.c.id, epochs.c.epoch)
    )
    found: dict[str, NDArray[np.float64]] = {}
    if not len(epoch):
        return found
    stride = int(epoch.max()) + 1
    rows = place * stride + epoch
    for chunk in connection.execute(statement.execution_options(yield_per=CHUNK)).partitions():
        owners = ids.get_indexer(pd.Index([row.trial for row in chunk]))
        wanted = owners * stride + np.array([row.epoch for row in chunk])
        at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
        same = rows[at] == wanted
        mappings = [row.measures for row in chunk]
        for name in dict.fromkeys(name for mapping in mappings for name in mapping):
            column = found.setdefault(f"measure_{name}" if name in _EPOCH_NAMES else name, np.full(len(rows), np.nan))
            values = np.array([mapping.get(name) for mapping in mappings], dtype="float64")
            column[at[same]] = values[same]
    return found


def curves_frame(connection: Connection, study: int) -> pd.DataFrame:
    """Every curve of every epoch of the study."""
    statement = (
        select(*_KEY, curves.c.epoch, curves.c.name, curves.c["values"])
        .join(trials, trials.c.id == curves.c.trial)
        .where(trials.c.study == study)
        .order_by(trials.c.position, trials.c.id, curves.c.epoch, curves.c.name)
    )
    rows = [tuple(row) for row in connection.execute(statement)]
    return pd.DataFrame(rows, columns=[column.name for column in statement.selected_columns])


def _checked(rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """The rows of trials with all hyperparameters in the last column, the arm's own after the configuration's.

    Raises StoreError if either do not match their checksums.
    """
    by_configuration = {row[0]: row for row in rows}
    for number, row in by_configuration.items():
        verified(row[-1], row[-2], f"configuration {number}")
    joined = []
    for *front, own, own_seal, seal, shared in rows:
        if own is not None:
            shared = {**shared, **verified(own, own_seal, f"trial {TrialKey(*front[: len(_KEY)])}")}
        joined.append((*front, own, own_seal, seal, shared))
    return joined


def _chunks(connection: Connection, statement: Select[Any]) -> Iterable[Sequence[Sequence[Any]]]:
    """The rows in chunks; a single empty chunk if there are none."""
    empty = True
    for chunk in connection.execute(statement.execution_options(yield_per=CHUNK)).partitions():
        empty = False
        yield chunk
    if empty:
        yield []


def _spread(rows: Sequence[Sequence[Any]], names: Sequence[str], packed: str, prefix: str) -> pd.DataFrame:
    """A frame of the rows with a column for each key of the mappings in `packed`, the last column."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    frame = pd.DataFrame(dict(zip(names[:-1], map(list, columns[:-1]), strict=True)))
    if not any(columns[names.index(packed)]):
        return frame
    mappings: list[Mapping[str, Any]] = [mapping or {} for mapping in columns[names.index(packed)]]
    keys = dict.fromkeys(name for mapping in mappings for name in mapping)
    extra = {
        f"{prefix}{name}" if name in names else name: [mapping.get(name, np.nan) for mapping in mappings]
        for name in keys
    }
    return pd.concat([frame, pd.DataFrame(extra, index=frame.index)], axis="columns")
