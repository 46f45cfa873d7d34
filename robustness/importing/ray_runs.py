"""Runs of Ray Tune: an experiment's `params.json` and `result.json` or `progress.csv`, and never a pickle."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from robustness.errors import RobustnessError
from robustness.guards.limits import check, is_file, is_folder, read_bytes
from robustness.importing.columns import BOOKKEEPING
from robustness.importing.runs import ImportedRun, SourceTable, table_of
from robustness.importing.sources import SPECIAL, SourceOptions, fields_of
from robustness.importing.tables import flattened, parsed_json

MOST_NAMED = 5
"""How many experiments in a folder are named."""
PARAMS, RESULTS, PROGRESS, ERROR = "params.json", "result.json", "progress.csv", "error.txt"


def read(place: str, options: SourceOptions) -> list[SourceTable]:
    """The trials of an experiment; raises RobustnessError with one line if there are none."""
    folder = Path(place).expanduser()
    if not is_folder(folder):
        raise RobustnessError(f"{folder}: no such folder; give the folder of a Tune experiment")
    trials = sorted(path.parent for path in _files(folder, PARAMS))
    if not trials:
        raise RobustnessError(f"{folder}: holds no {PARAMS}, so it is no experiment of Ray Tune{_below(folder)}")
    check("run_files", len(trials), folder, RobustnessError)
    runs = [_run(trial, options.names) for trial in trials]
    return [table_of(runs, str(folder), "ray", adaptive=_is_adaptive(folder), name=folder.resolve().name)]


def _below(folder: Path) -> str:
    """The experiments one level further down, as a hint."""
    found = sorted({path.parent.parent.name for path in folder.glob(f"*/*/{PARAMS}")})
    if not found:
        return ""
    more = ", ..." if len(found) > MOST_NAMED else ""
    return f"; its folders are: import {', '.join(f'ray:{folder / name}' for name in found[:MOST_NAMED])}{more}"


def _files(folder: Path, name: str) -> Iterator[Path]:
    """The files of a name in the experiment's folder and the folders of its trials."""
    yield from (folder.glob(name))
    yield from folder.glob(f"*/{name}")


def _is_adaptive(folder: Path) -> bool | None:
    """Whether a search algorithm proposed the trials, by the names of the files that Tune leaves."""
    if any(folder.glob("searcher-state-*")) or any(folder.glob("search_gen_state-*")):
        return True
    return False if any(folder.glob("basic-variant-state-*")) else None


def _run(trial: Path, pattern: str | None) -> ImportedRun:
    parameters = flattened(parsed_json(read_bytes(trial / PARAMS, "runs_bytes", RobustnessError), trial / PARAMS))
    arm = None
    if pattern is not None:
        fields = fields_of(pattern, trial.name)
        arm = fields.get("arm")
        parameters |= {name: value for name, value in fields.items() if name not in SPECIAL}
    results = list(_results(trial))
    measures: dict[str, dict[int, float]] = {}
    for place, result in enumerate(results, start=1):
        epoch = result.get("training_iteration", place)
        epoch = epoch if isinstance(epoch, int) and epoch >= 0 else place
        for name, value in result.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and not _is_bookkeeping(name):
                # Tune writes the last result twice; the later one counts.
                measures.setdefault(name, {})[epoch] = float(value)
    times = [float(result["timestamp"]) for result in results if isinstance(result.get("timestamp"), int | float)]
    status = "error" if is_file(trial / ERROR) else "finished" if results else "pending"
    return ImportedRun(parameters, measures, status, *_span(times, results), arm)


def _span(times: Sequence[float], results: Sequence[Mapping[str, Any]]) -> tuple[float | None, float | None]:
    """When a trial started and ended; the first result comes after its first iteration."""
    if not times:
        return None, None
    first = results[0].get("time_total_s", 0.0)
    return times[0] - (float(first) if isinstance(first, int | float) and math.isfinite(first) else 0.0), times[-1]


def _is_bookkeeping(name: str) -> bool:
    return name in BOOKKEEPING or name.startswith(("config/", "perf/", "timers/"))


def _results(trial: Path) -> Iterator[dict[str, Any]]:
    """The results of a trial in their order, flat."""
    if is_file(trial / RESULTS):
        content = read_bytes(trial / RESULTS, "runs_bytes", RobustnessError)
        lines = content.splitlines()
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield flattened(parsed_json(line, f"{trial / RESULTS}, line {number}"))
            except RobustnessError:
                # A killed trial may leave half a last line.
                if number < len(lines):
                    raise
    elif is_file(trial / PROGRESS):
        content = read_bytes(trial / PROGRESS, "runs_bytes", RobustnessError)
        try:
            for row in csv.DictReader(io.StringIO(content.decode(), newline="")):
                yield {name: _cell(cell) for name, cell in row.items() if name and cell}
        except (UnicodeDecodeError, csv.Error) as problem:
            raise RobustnessError(f"{trial / PROGRESS}: cannot be read as CSV ({problem})") from None


def _cell(cell: Any) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except (TypeError, ValueError):
            continue
    return cell
