"""The data of the page's script: every trial with its score to the last digit, so that no outcome flips.

A unit is a configuration with a replicate (on a task), and arrays over trials are [units, arms]. The script recomputes
what `report.comparison` computes, from the same judged trials: what counts and what is paired is decided here, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from report.exploring.axes import AxisEntry, axes
from report.exploring.curves import ends_only, thinned
from report.exploring.packing import Packed, pack
from report.frames import TASK_BLOCK
from report.judging import own_scores, worst_scores
from report.records.estimates import JudgedOutcome
from report.sections.profiles import GRID
from report.sections.thresholds import dashed_lines
from report.words import spaced, text
from robustness.statistics.proportions import LEVEL

if TYPE_CHECKING:
    from report.analysis import Analysis

PLANNED, COUNTED, PAIRED = 1, 2, 4
"""Bits of a trial's flags; the last two only of trials that fractions are over."""


class CurveEntry(TypedDict):
    """The learning curves: the epoch of each bin, and the range of the metric."""

    epochs: list[float]
    low: float
    high: float
    ends_only: bool
    """Whether only the best and the last epoch of each trial are known, so that no line may join them."""
    packed: Packed


class ExploreData(TypedDict):
    """The data of the page's script; docs/architecture.md says which file of it reads them."""

    arms: list[str]
    compared: list[tuple[int, int]]
    paired: bool
    tasks: list[str]
    epoch: str
    metric: str
    primary: JudgedOutcome | None
    levels: dict[JudgedOutcome, float]
    """The study's own thresholds; empty without any."""
    dashed: str
    """What the dashed lines of profiles are."""
    inclusive: bool
    good_first: bool
    lower_is_better: bool
    worst: list[float]
    """The score of a trial without one, on each task."""
    range: tuple[float, float]
    grid: int
    """The ends and number of the thresholds of profiles."""
    level: float
    z: float
    watched: bool
    """Then no interval and no test is recomputed: each is for a number of configurations settled beforehand."""
    corrected: str
    """The heading of corrected p-values."""
    replicated: bool
    axes: list[AxisEntry]
    statuses: list[str]
    numbers: list[int]
    """The numbers of configurations, if they are not 0, 1, 2, ..."""
    packed: Packed
    curves: CurveEntry
    table: NotRequired[str]
    """All rows of the table of configurations, if the page lists only the first."""


def explore_data(analysis: Analysis) -> ExploreData | None:
    """The data of a study whose page compares configurations; None for a search, or without any trial."""
    trials = analysis.trials
    if analysis.alone or "search" in analysis.results or trials.empty:
        return None
    frames, judge = analysis.frames, analysis.judge
    units = trials[["configuration", "replicate"]].drop_duplicates().sort_values(["configuration", "replicate"])
    arms = list(analysis.arms.names)
    cell = _Cells(units, arms)
    at = cell.of(trials)
    flags = np.zeros(cell.size, dtype=np.uint8)
    counts = trials.index.isin(analysis.study.planned.index)
    bits = PLANNED + COUNTED * (counts & trials["counted"]) + PAIRED * (counts & trials["paired"])
    flags[at] = bits.to_numpy(dtype=np.uint8)
    scores = np.full(cell.size, np.nan)
    scores[at] = own_scores(trials, analysis.epoch).to_numpy(dtype=float)
    codes, statuses = pd.factorize(trials["status"])
    status = np.full(cell.size, 255, dtype=np.uint8)
    status[at] = codes
    known = frames.configurations.index.to_numpy()
    place_of = pd.Series(np.arange(len(known)), index=known)
    arrays: dict[str, NDArray[np.generic]] = {
        "configuration": units["configuration"].map(place_of).to_numpy(dtype=np.int32),
        "replicate": (units["replicate"] % TASK_BLOCK).to_numpy(dtype=np.int32),
        "task": (units["replicate"] // TASK_BLOCK).to_numpy(dtype=np.int16),
        "flags": flags,
        "status": status,
        "score": scores,
    }
    if judge.cells:
        thresholds = np.full(cell.size, np.nan)
        thresholds[at] = trials[f"threshold_{analysis.epoch}"].to_numpy(dtype=float)
        arrays["threshold"] = thresholds
    varied = axes(frames)
    arrays |= {f"axis{place}": axis.column for place, axis in enumerate(varied)}
    levels: dict[JudgedOutcome, float] = {"learned_nothing": analysis.nothing, "good": analysis.good}
    worst = worst_scores(frames)
    in_order = np.array_equal(known, np.arange(len(known)))
    return {
        "arms": [text(arm, 60) for arm in arms],
        "compared": [(arms.index(first), arms.index(second)) for first, second in frames.compared],
        "paired": frames.paired,
        "tasks": [text(task, 60) for task in frames.tasks],
        "epoch": analysis.epoch,
        "metric": analysis.metric_words,
        "primary": frames.primary if frames.has_thresholds else None,
        "levels": levels if frames.has_thresholds else {},
        "dashed": dashed_lines(analysis),
        "inclusive": judge.inclusive,
        "good_first": judge.gains,
        "lower_is_better": analysis.goal.minimizes,
        "worst": [worst.get(place, 0.0) for place in range(max(1, len(frames.tasks)))],
        "range": analysis.study.score_range,
        "grid": GRID,
        "level": LEVEL,
        "z": float(ndtri((1 + LEVEL) / 2)),
        "watched": analysis.study.sample.watch is not None,
        "corrected": frames.corrected,
        "replicated": bool((units["replicate"] % TASK_BLOCK > 0).any()),
        "axes": [axis.entry for axis in varied],
        "statuses": [spaced(status) for status in statuses],
        "numbers": [] if in_order else known.tolist(),
        "packed": pack(arrays),
        "curves": _curves(analysis, cell),
    }


class _Cells:
    """The place of a trial in arrays [units, arms], flattened."""

    def __init__(self, units: pd.DataFrame, arms: list[str]) -> None:
        self._span = int(units["replicate"].max()) + 1
        self._keys = units["configuration"].to_numpy(dtype=np.int64) * self._span + units["replicate"].to_numpy()
        self._arms = pd.Index(arms)
        self.size = len(units) * len(arms)

    def of(self, trials: pd.DataFrame) -> NDArray[np.int64]:
        """The place of each row's trial."""
        keys = trials["configuration"].to_numpy(dtype=np.int64) * self._span + trials["replicate"].to_numpy()
        codes, names = pd.factorize(trials["arm"])
        arm = self._arms.get_indexer(pd.Index(names))[codes]
        places: NDArray[np.int64] = np.searchsorted(self._keys, keys) * len(self._arms) + arm
        return places


def _curves(analysis: Analysis, cell: _Cells) -> CurveEntry:
    epochs = analysis.frames.trained(analysis.metric)
    known = analysis.metric in epochs and len(epochs)
    epochs = epochs if known else epochs.iloc[:0]
    values = epochs[analysis.metric].to_numpy(dtype=float) if known else np.zeros(0)
    curves = thinned(epochs["epoch"], values, cell.of(epochs) if known else np.zeros(0, dtype=np.int64), cell.size)
    return {
        "epochs": curves.epochs,
        "low": curves.low,
        "high": curves.high,
        "ends_only": ends_only(analysis.frames),
        # Differences from one bin to the next, modulo 256, take a third less space.
        "packed": pack({"steps": np.diff(curves.steps, axis=1, prepend=np.uint8(0)).T}),
    }
