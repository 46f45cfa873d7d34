"""Runs without a result: never dropped in silence, since they are often the ones that diverged.

A run that has not ended is left out. A run whose metric ends infinite diverged, as in a sweep. A run without a number
at its end, or that crashed, is what `missing` says; one that was pruned or ended before others of its task is what
`pruned` says; where nothing was said, the import asks.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustness.errors import RobustnessError, plural
from robustness.importing.assembling import Runs
from robustness.importing.grids import absent_cells
from robustness.importing.options import ImportOptions
from robustness.importing.questions import Question
from robustness.trial import LARGEST


def settle(runs: Runs, options: ImportOptions) -> Runs:
    """The runs with a status for each; raises Question with one line that names the option to set."""
    open_runs = (runs.frame["status"] == "planned").to_numpy()
    remarks = []
    if open_runs.any():
        remarks.append(f"{plural(int(open_runs.sum()), 'run')} not ended, left out")
        runs = runs.of(~open_runs)
    if runs.frame.empty:
        raise RobustnessError(f"{runs.source}: no run has ended")
    for status, count in runs.unknown_statuses.items():
        remarks.append(f"{plural(count, 'run')} with the unknown status {status!r}, judged by the metric")
    runs, about_infinite = _settle_infinite(runs)
    runs, about_missing = _settle_missing(runs, options)
    runs, about_pruned = _settle_pruned(runs, options)
    runs, about_absent = _settle_absent(runs, options)
    return replace(runs, remarks=[*remarks, *about_infinite, *about_missing, *about_pruned, *about_absent])


def _settle_infinite(runs: Runs) -> tuple[Runs, list[str]]:
    infinite = np.isinf(runs.frame["last"].to_numpy()) & runs.frame["status"].isin(["finished", "pruned"]).to_numpy()
    if not infinite.any():
        return runs, []
    what = f"{infinite.sum():,} of {plural(len(runs.frame), 'run')} infinite or beyond ±{LARGEST:g}"
    return _with_status(runs, infinite, "diverged"), [f"{what}{_by_arm(runs, infinite)}: counted as diverged"]


def _settle_missing(runs: Runs, options: ImportOptions) -> tuple[Runs, list[str]]:
    status = runs.frame["status"].to_numpy(dtype=object)
    crashed = status == "failed"
    empty = (status == "finished") & ~np.isfinite(runs.frame["last"].to_numpy())
    missing = crashed | empty
    if not missing.any():
        return runs, []
    kinds = [f"{empty.sum():,} empty or NaN"] * bool(empty.any()) + [f"{crashed.sum():,} crashed"] * bool(crashed.any())
    why = ", ".join(kinds) + _by_arm(runs, missing)
    what = f"{missing.sum():,} of {plural(len(runs.frame), 'run')} without a result ({why})"
    if options.missing is None:
        raise Question(
            runs.source,
            f"{what}: say {options.named('missing', 'diverged')} to count them as failures, or "
            f"{options.named('missing', 'left-out')} to leave them out",
            {"missing": "left-out"},
        )
    if options.missing == "left-out":
        return _with_status(runs, missing, "failed"), [f"{what}: left out"]
    return _with_status(runs, missing, "diverged"), [f"{what}: counted as diverged"]


def _settle_pruned(runs: Runs, options: ImportOptions) -> tuple[Runs, list[str]]:
    frame = runs.frame
    pruned = (frame["status"] == "pruned").to_numpy()
    ended = (frame["status"] == "finished").to_numpy()
    longest = frame["last_epoch"].where(ended, 0).groupby(frame["task"]).transform("max").to_numpy()
    short = ended & (frame["last_epoch"].to_numpy() < longest)
    early = pruned | short
    if not early.any():
        return runs, []
    what = f"{early.sum():,} of {plural(len(frame), 'run')} stopped early"
    if short.any():
        budget = int(longest.max())
        what += f" ({short.sum():,} ended before epoch {budget:,}{_by_arm(runs, early)})"
    else:
        what += f" (pruned{_by_arm(runs, early)})"
    if options.pruned is None:
        raise Question(
            runs.source,
            f"{what}: say {options.named('pruned', 'left-out')} to leave them out, or "
            f"{options.named('pruned', 'last-value')} to judge them by the epochs that they have",
            {"pruned": "left-out"},
        )
    if options.pruned == "left-out":
        return _with_status(runs, early, "pruned"), [f"{what}: left out"]
    scored = np.isfinite(frame["last"].to_numpy())
    runs = _with_status(runs, early & scored, "finished")
    return _with_status(runs, early & ~scored, "failed"), [f"{what}: judged by the epochs that they have"]


def _settle_absent(runs: Runs, options: ImportOptions) -> tuple[Runs, list[str]]:
    if options.missing == "diverged" or len(runs.configurations) < 2:
        return runs, []
    absent = absent_cells(runs)
    if absent is None or absent.rows.empty:
        return runs, []
    what = f"{len(absent.rows):,} of {absent.cells:,} cells of the grid have no run{_of_arms(absent.rows)}"
    if options.missing == "absent-is-diverged":
        return _with_rows(runs, absent.rows, absent.configurations), [f"{what}: counted as diverged"]
    if options.missing == "left-out":
        return runs, [f"{what}: left out"]
    raise Question(
        runs.source,
        f"{what}: say {options.named('missing', 'absent-is-diverged')} to count them as failures, or "
        f"{options.named('missing', 'left-out')} to leave them out",
        {"missing": "left-out"},
    )


def _with_status(runs: Runs, chosen: NDArray[np.bool_], status: str) -> Runs:
    return replace(runs, frame=runs.frame.assign(status=runs.frame["status"].mask(chosen, status)))


def _with_rows(runs: Runs, rows: pd.DataFrame, configurations: list[dict[str, Any]]) -> Runs:
    nothing: dict[str, Any] = {
        "status": "diverged",
        "started": np.nan,
        "ended": np.nan,
        "seconds": np.nan,
        "last": np.nan,
    }
    further = rows.assign(**nothing, last_epoch=0)[runs.frame.columns]
    return replace(
        runs,
        frame=pd.concat([runs.frame, further], ignore_index=True),
        configurations=[*runs.configurations, *configurations],
    )


def _by_arm(runs: Runs, chosen: NDArray[np.bool_]) -> str:
    return _of_arms(runs.frame[chosen]) if len(runs.arms) > 1 else ""


def _of_arms(rows: pd.DataFrame) -> str:
    counts = Counter(rows["arm"])
    shown = ", ".join(f"{arm} {count:,}" for arm, count in sorted(counts.items())[:8])
    return f"; {shown}{', ...' if len(counts) > 8 else ''}"
