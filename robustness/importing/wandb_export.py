"""Runs of W&B: the CSV that its web page exports. For its API there is `robustness.from_dataframe`.

Its columns are those of the page (Name, State, Notes, User, Tags, Created, Runtime, Sweep), then the keys of the runs'
configuration and those of their summary, each sorted, without a prefix that would tell them apart.
"""

from __future__ import annotations

from pathlib import Path

from robustness.errors import RobustnessError
from robustness.importing.runs import SourceTable
from robustness.importing.sources import SourceOptions
from robustness.importing.tables import read_table

MARKS = ("Name", "State")


def read(place: str, _options: SourceOptions) -> list[SourceTable]:
    """The table of an export; raises RobustnessError if it is none."""
    path = Path(place)
    table = SourceTable(str(path), "wandb", read_table(path))
    if not set(MARKS) & set(table.frame.columns):
        raise RobustnessError(
            f"{path}: has no column {' or '.join(map(repr, MARKS))}, so it is no export of W&B's runs; import it as a "
            "plain file"
        )
    return [table]
