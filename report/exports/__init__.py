"""The table of results, one row a trial: the same bytes for the same study, however it was run and resumed.

Columns: task (in a study with several), configuration, replicate, arm, one for each hyperparameter (`hp_` before a name
that is taken), status, epochs,
best, best_epoch, last, last_epoch, outcome_best, outcome_last (explained in `report.frames` and `report.judging`).
Times, workers, attempts and error texts are left out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from report.frames import TASK_BLOCK, StudyFrames, is_missing, load_frames, own_column
from report.judged_study import JudgedStudy
from robustness.guards.outputs import GENERATOR
from robustness.guards.tables import neutral
from robustness.store import StudyStore
from robustness.trial import PENDING

_FRONT = ["configuration", "replicate", "arm"]
_BACK = ["status", "epochs", "best", "best_epoch", "last", "last_epoch", "outcome_best", "outcome_last"]


def results_table(frames: StudyFrames, judged: pd.DataFrame | None = None) -> pd.DataFrame:
    """The table of results, sorted by configuration, replicate and the study's order of arms."""
    trials = JudgedStudy.of(frames).trials if judged is None else judged
    front = ["task", *_FRONT] if frames.tasks else _FRONT
    shared = frames.configurations.drop(columns=list(frames.owners))
    drawn = shared.rename(columns=lambda name: f"hp_{name}" if name in (*front, *_BACK) else name)
    joined = trials[[*front, *_BACK]].join(drawn, on="configuration")
    joined["replicate"] %= TASK_BLOCK
    own = _own_values(frames, trials)
    joined = joined.assign(**own)
    # A trial that has not ended changes between two looks.
    ended = ~joined["status"].isin(PENDING)
    for name in ("epochs", "best", "best_epoch", "last", "last_epoch"):
        joined[name] = joined[name].where(ended, 0 if name == "epochs" else pd.NA)
    joined["status"] = joined["status"].where(ended, "planned")
    if not frames.has_thresholds:
        # Without thresholds the judge knows no outcomes.
        joined[["outcome_best", "outcome_last"]] = pd.NA
    joined = joined.astype({"best": "float64", "last": "float64"})
    return joined[[*front, *drawn.columns, *own, *_BACK]]


def _own_values(frames: StudyFrames, trials: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """The values of hyperparameters from the spaces of single arms, by name; each arm has its own."""
    own: dict[str, pd.Series[Any]] = {}
    for column, arm in frames.owners.items():
        name = column.removeprefix(own_column(arm, ""))
        name = f"hp_{name}" if name in ("task", *_FRONT, *_BACK) else name
        values = trials["configuration"].map(frames.configurations[column]).astype(object)
        mine = trials["arm"] == arm
        own[name] = values.where(mine, own[name]) if name in own else values.where(mine)
    return own


def results_csv(study: StudyStore | StudyFrames) -> str:
    """The table of results as CSV text with `\\n` after each line; floats read back exactly.

    A text that a spreadsheet would run as a formula has an apostrophe in front, which an import removes.
    """
    frames = study if isinstance(study, StudyFrames) else load_frames(study)
    table = results_table(frames)
    columns = [_cells(table[name], neutral) for name in table.columns]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([neutral(str(name)) for name in table.columns])
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def results_records(frames: StudyFrames, judged: pd.DataFrame | None = None) -> list[dict[str, object]]:
    """The table of results as records for JSON, None where a cell is empty; `robustness import` reads them back."""
    table = results_table(frames, judged)
    columns = {
        str(name): [None if is_missing(value) else value for value in table[name].astype(object).tolist()]
        for name in table.columns
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def write_parquet(study: StudyStore | StudyFrames, file: IO[bytes] | Path) -> None:
    """Write the table of results as a parquet file; a hyperparameter of mixed types becomes text."""
    frames = study if isinstance(study, StudyFrames) else load_frames(study)
    table = results_table(frames)
    for name in table.columns:
        if table[name].dtype == object:
            cells = [None if cell == "" else cell for cell in _cells(table[name])]
            table[name] = pd.array(cells, dtype="string")
    columns = pa.Table.from_pandas(table, preserve_index=False)
    columns = columns.replace_schema_metadata({**(columns.schema.metadata or {}), b"generator": GENERATOR.encode()})
    pq.write_table(columns, file)


def _cells(column: pd.Series[Any], write: Callable[[str], str] = str) -> list[str]:
    """Each value as text, through `write` if it is text; integers that a gap turned into floats are integers again."""
    values = column.tolist()
    known = [value for value in values if not is_missing(value)]
    whole = all(isinstance(value, float) and value.is_integer() for value in known) and len(known) < len(values)
    return ["" if is_missing(value) else _cell(value, whole, write) for value in values]


def _cell(value: Any, whole: bool, write: Callable[[str], str]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if whole else repr(value)
    return write(value) if isinstance(value, str) else str(value)
