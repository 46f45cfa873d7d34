"""Runs of TensorBoard: a folder with a folder of event files for each run.

Hyperparameters come from the HParams dashboard's summaries, or from the folders' names by a pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robustness.errors import RobustnessError
from robustness.guards.limits import check, is_folder
from robustness.importing.event_files import EventFile, read_events
from robustness.importing.runs import ImportedRun, SourceTable, table_of
from robustness.importing.sources import SPECIAL, SourceOptions, fields_of

FILES = "*tfevents*"


def read(place: str, options: SourceOptions) -> list[SourceTable]:
    """The runs below a folder; raises RobustnessError with one line if there are none."""
    folder = Path(place).expanduser()
    if not is_folder(folder):
        raise RobustnessError(f"{folder}: no such folder; give a folder of TensorBoard's event files")
    files: dict[Path, list[Path]] = {}
    for count, path in enumerate(sorted(folder.rglob(FILES)), start=1):
        check("run_files", count, folder, RobustnessError)
        files.setdefault(path.parent, []).append(path)
    if not files:
        raise RobustnessError(f"{folder}: holds no event files of TensorBoard ({FILES})")
    runs = []
    for run, paths in _with_parents(files).items():
        events = [read_events(path) for path in paths]
        parameters: dict[str, Any] = {name: v for event in events for name, v in event.hyperparameters.items()}
        arm = None
        if options.names is not None:
            fields = fields_of(options.names, run.relative_to(folder).as_posix())
            arm = fields.get("arm")
            parameters |= {name: value for name, value in fields.items() if name not in SPECIAL}
        runs.append(_run(parameters, events, arm))
    if not any(run.parameters for run in runs):
        raise RobustnessError(
            f"{folder}: its event files state no hyperparameters; read them from the folders' names, such as "
            "--names '{arm}_lr{learning_rate}_s{seed}'"
        )
    return [table_of(runs, str(folder), "tensorboard", name=folder.resolve().name)]


def _with_parents(files: dict[Path, list[Path]]) -> dict[Path, list[Path]]:
    """The files of each run; a writer of hyperparameters puts theirs into a folder below the run's."""
    runs: dict[Path, list[Path]] = {}
    for folder, paths in files.items():
        runs.setdefault(folder.parent if folder.parent in files else folder, []).extend(paths)
    return runs


def _run(parameters: dict[str, Any], events: Sequence[EventFile], arm: str | None) -> ImportedRun:
    measures: dict[str, dict[int, float]] = {}
    for event in events:
        for tag, curve in event.scalars.items():
            measures.setdefault(tag, {}).update(curve)
    starts = [event.first for event in events if event.first is not None]
    ends = [event.last for event in events if event.last is not None]
    status = next((event.status for event in events if event.status), "")
    return ImportedRun(parameters, measures, status, min(starts, default=None), max(ends, default=None), arm)
