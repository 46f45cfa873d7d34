"""Several sources of one import as one table, and the rows of it that are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from robustness.errors import RobustnessError, unknown_name
from robustness.guards.limits import check
from robustness.importing.columns import unprefixed
from robustness.importing.options import ImportOptions
from robustness.importing.runs import ARM, RUN, SourceTable, adaptive_together


def chosen(table: SourceTable, options: ImportOptions) -> SourceTable:
    """The rows that `only` names; raises RobustnessError if a column or value is unknown."""
    keep = np.ones(len(table.frame), dtype=bool)
    for column, values in options.only.items():
        named = [name for name in map(str, table.frame.columns) if column in (name, unprefixed(name)[0])]
        if len(named) != 1:
            problem = unknown_name("column", column, map(str, table.frame.columns))
            raise RobustnessError(f"{table.source}: {options.named('only')}: {problem}")
        cells = table.frame[named[0]].astype(str)
        for value in values:
            if not (cells == value).any():
                problem = unknown_name(f"value of {column}", value, cells.unique()[:50])
                raise RobustnessError(f"{table.source}: {options.named('only')}: {problem}")
        keep &= cells.isin(list(values)).to_numpy()
    if keep.all():
        return table
    if not keep.any():
        raise RobustnessError(f"{table.source}: {options.named('only')}: no row has all of these values")
    places = np.cumsum(keep) - 1
    epochs = None
    if table.epochs is not None:
        kept = {name: rows[keep[rows[RUN].to_numpy()]] for name, rows in table.epochs.items()}
        epochs = {name: rows.assign(**{RUN: places[rows[RUN].to_numpy()]}) for name, rows in kept.items()}
    return replace(table, frame=table.frame[keep].reset_index(drop=True), epochs=epochs)


def combined(tables: Sequence[SourceTable]) -> SourceTable:
    """One table with the runs of all; raises RobustnessError if they cannot stand in one."""
    if len(tables) == 1:
        return tables[0]
    sources = ", ".join(table.source for table in tables[:3]) + (", ..." if len(tables) > 3 else "")
    if len({table.epochs is None for table in tables}) > 1:
        raise RobustnessError(f"{sources}: import tables and trackers one after the other, as two studies")
    goals = {name: goal for table in tables for name, goal in table.goals.items()}
    for table in tables:
        for name, goal in table.goals.items():
            if goals[name] != goal:
                raise RobustnessError(f"{sources}: {name!r} is maximised in one source and minimised in another")
    named = [table if ARM in table.frame or not table.name else table.labelled(table.name, None) for table in tables]
    frame = pd.concat([table.frame for table in named], ignore_index=True)
    check("runs_rows", len(frame), sources, RobustnessError)
    parts: dict[str, list[pd.DataFrame]] = {}
    first = 0
    for table in named:
        for name, epochs in (table.epochs or {}).items():
            parts.setdefault(name, []).append(epochs.assign(**{RUN: epochs[RUN] + first}))
        first += len(table.frame)
    return SourceTable(
        source=sources,
        kind=tables[0].kind,
        frame=frame,
        epochs=None if tables[0].epochs is None else {name: pd.concat(each) for name, each in parts.items()},
        goals=goals,
        further=list(dict.fromkeys(name for table in tables for name in table.further)),
        adaptive=adaptive_together(table.adaptive for table in tables),
        arm_is_named=all(table.arm_is_named for table in tables),
    )
