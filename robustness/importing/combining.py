"""Several sources of one import as one table: files of an arm each, or of a task each."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from robustness.errors import RobustnessError
from robustness.guards.limits import check
from robustness.importing.runs import ARM, RUN, SourceTable


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
    known = {table.adaptive for table in tables}
    return SourceTable(
        source=sources,
        kind=tables[0].kind,
        frame=frame,
        epochs=None if tables[0].epochs is None else {name: pd.concat(each) for name, each in parts.items()},
        goals=goals,
        further=list(dict.fromkeys(name for table in tables for name in table.further)),
        adaptive=True if True in known else None if None in known else False,
    )
