"""Imports as the command line makes them, without a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robustness.importing.assembling import Runs
from robustness.importing.frame import Import, make_import
from robustness.importing.options import ImportOptions
from robustness.importing.sources import SourceOptions, read_source


def imported(source: str | Path, **options: Any) -> Import:
    """What `robustness import SOURCE` understands; `studies`, `experiment` and `names` choose a part of the source."""
    part = {name: options.pop(name) for name in ("studies", "experiment", "names") if name in options}
    return make_import("imported", read_source(str(source), SourceOptions(**part)), ImportOptions(**options))


@dataclass(frozen=True)
class ImportedRow:
    """One imported run: its row of `Runs.frame`, with its hyperparameters and its epochs."""

    arm: str
    replicate: int
    status: str
    started: float
    hyperparameters: Mapping[str, Any]
    curve: list[tuple[int, float]]
    """(epoch, metric)."""


def rows_of(runs: Runs) -> Iterator[ImportedRow]:
    """The imported runs, in the order of `Runs.frame`."""
    for place, row in enumerate(runs.frame.to_dict("records")):
        epochs = runs.epochs[runs.epochs["run"] == place]
        yield ImportedRow(
            str(row["arm"]),
            int(row["replicate"]),
            str(row["status"]),
            float(row["started"]),
            runs.configurations[int(row["configuration"])],
            list(zip(epochs["epoch"].astype(int), epochs[runs.metric].astype(float), strict=True)),
        )
