"""A study as pandas frames, each read with one SQL statement.

`trials`: configuration, arm, replicate, task (empty in a study with one), one column for each hyperparameter, status,
stage, run, metric, metric_epoch, seconds, attempts, started, ended, worker, device, error, checksum; a hyperparameter
with such a name gets the prefix `hp_`.
`epochs`: configuration, arm, replicate, task, epoch, pretraining, seconds, the usual measures (NaN where not measured),
then every other measure; one with the name of a column gets the prefix `measure_`.
`curves`: configuration, arm, replicate, task, epoch, name, values (a list of floats).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Column, ColumnElement, Connection, Select, select, type_coerce
from sqlalchemy.types import NullType

from robustness.store.checksums import verified
from robustness.store.schema import MEASURES, configurations, curves, epochs, trials
from robustness.trial import TrialKey

CHUNK = 20_000
"""The number of rows that are held as Python objects at a time."""

KEY_COLUMNS = TrialKey._fields
_KEY = tuple(trials.c[name] for name in KEY_COLUMNS)
_STATE = (
    *("status", "stage", "run", "metric", "metric_epoch", "seconds"),
    *("attempts", "started", "ended", "worker", "device", "error", "checksum"),
)
EPOCH_COLUMNS = ("epoch", "pretraining", "seconds", *MEASURES)


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
    statement = (
        select(*_KEY, *(_unconverted(epochs.c[name]) for name in EPOCH_COLUMNS), epochs.c.measures)
        .join(trials, trials.c.id == epochs.c.trial)
        .where(trials.c.study == study)
        .order_by(trials.c.position, trials.c.id, epochs.c.epoch)
    )
    names = [column.name for column in statement.selected_columns]
    parts = [_numbers(_spread(rows, names, "measures", "measure_")) for rows in _chunks(connection, statement)]
    # Concatenation would change the type of a measure that some parts lack, so all parts get the same columns first.
    columns = list(dict.fromkeys(name for part in parts for name in part.columns))
    return pd.concat([part.reindex(columns=columns) for part in parts], ignore_index=True)


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


def _unconverted(column: Column[Any]) -> ColumnElement[Any]:
    """The column without conversion of single values: converting millions of them at once is faster."""
    return column if column.name == "pretraining" else type_coerce(column, NullType()).label(column.name)


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


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame of epochs with all measures as floats, NaN where they are missing."""
    exact = {"configuration": "int64", "arm": "str", "replicate": "int64", "task": "str", "epoch": "int64"}
    exact["pretraining"] = "bool"
    return frame.astype({name: exact.get(name, "float64") for name in frame.columns})
