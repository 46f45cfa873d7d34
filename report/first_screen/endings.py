"""How the runs of a study ended, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from report.words import listed, text
from robustness.errors import plural
from robustness.trial import PENDING

if TYPE_CHECKING:
    from report.analysis import Analysis

ENDED = {
    "diverged": "diverged",
    "failed": "failed",
    "out_of_memory": "ran out of memory",
    "timed_out": "timed out",
    "pruned": "{were} ended early",
}
"""In the order in which they are named."""


def endings(analysis: Analysis) -> str:
    """`All 675 runs finished; none diverged or failed.`, `Of 430 runs, 419 finished and 11 diverged (all of mfvi).`"""
    trials = analysis.trials
    if trials.empty:
        return "No run is planned."
    parts = list(_parts(analysis, trials))
    missing = int((trials["reason"] == "not_measured").sum())
    unmeasured = f"; {missing} of those that finished or diverged have no value of the metric" if missing else ""
    if not parts:
        runs = "The only run" if len(trials) == 1 else f"All {len(trials):,} runs"
        return f"{runs} finished; none diverged or failed{unmeasured}."
    finished = int((trials["status"] == "finished").sum())
    return f"Of {plural(len(trials), 'run')}, {listed([f'{finished:,} finished', *parts])}{unmeasured}."


def _parts(analysis: Analysis, trials: pd.DataFrame) -> Iterator[str]:
    """`11 diverged (all of mfvi)`, for each way in which any run ended but by finishing."""
    for status, words in ENDED.items():
        own = trials[trials["status"] == status]
        if len(own):
            did = words.format(were="was" if len(own) == 1 else "were")
            yield f"{len(own):,} {did}{_shared(analysis, own)}"
    waiting = trials[trials["status"].isin(PENDING)]
    if len(waiting):
        yield f"{len(waiting):,} {'has' if len(waiting) == 1 else 'have'} not ended yet"


def _shared(analysis: Analysis, runs: pd.DataFrame) -> str:
    """` (all of mfvi, on svhn)`, where these runs have an arm or a task in common and the study has others."""
    every = "" if len(runs) == 1 else "all "
    arms, tasks = runs["arm"].unique(), runs["task"].unique() if "task" in runs else ()
    parts = []
    if len(arms) == 1 and len(analysis.frames.arms) > 1:
        parts.append(f"{every}of {text(arms[0], 40)}")
    if len(tasks) == 1 and len(analysis.frames.tasks) > 1:
        parts.append(f"{'' if parts else every}on {text(tasks[0], 40)}")
    return f" ({', '.join(parts)})" if parts else ""
