"""The table of all configurations, with every arm side by side."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from report.frames import TASK_BLOCK
from report.judging import own_scores
from report.sections.search.trial_table import search_caption, search_rows
from report.words import DASH, OUTCOME_WORDS, brief, minus, number, score, spaced, text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis

MOST_ROWS = 20_000
"""More would make the page heavy; the CSV has them all."""
MOST_DECIMALS = 8
NONE = "none"
"""Of a hyperparameter that a configuration does not have; the page's script has the same word."""
LISTED = 200
"""Rows of a larger table that stand in the page as they are; its script shows the others."""


@dataclass(frozen=True)
class ConfigurationTable:
    """Rows of text, ready to be shown; a cell that has nothing to show is a dash."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    reading: str
    varied: tuple[str, ...] = ()
    """The columns of hyperparameters by which the page's script sorts the rows at first."""

    @property
    def example(self) -> str | None:
        """A hyperparameter and its value in the first row, as the filter of the page takes them: `optimizer=sgd`."""
        for name in self.varied:
            for row in self.rows[:1]:
                found = f"{name}={row[self.columns.index(name)]}"
                if NONE not in found and not re.search(r"\s", found):
                    return found
        return None

    @property
    def listed(self) -> tuple[tuple[str, ...], ...]:
        """The rows that stand in the page as they are."""
        return self.rows[:LISTED]


def configuration_table(analysis: Analysis) -> ConfigurationTable:
    """One row for each configuration and replicate: its hyperparameters, then each arm's score and outcome.

    A search, in which each arm has its own configurations, has one row for each trial.
    """
    if "search" in analysis.results:
        heads, lines, count = search_rows(analysis, MOST_ROWS)
        reading = f"{count} trials are planned" if count != 1 else "One trial is planned"
        reading += f"; the first {MOST_ROWS} are in this table and all in the CSV." if count > MOST_ROWS else "."
        return ConfigurationTable(heads, lines, search_caption(analysis), reading)
    trials = analysis.trials
    repeated, tasks = bool((trials["replicate"] % TASK_BLOCK > 0).any()), analysis.frames.tasks
    keys = ["configuration", "replicate"]
    index = trials[keys].drop_duplicates().sort_values(keys)
    shown = index.head(MOST_ROWS)
    threshold = trials[f"threshold_{analysis.epoch}"] if analysis.frames.has_thresholds else np.nan
    kept = trials.assign(own=own_scores(trials, analysis.epoch), threshold=threshold).merge(shown, on=keys)
    by_key: dict[Any, Any] = {
        (row.configuration, row.replicate, row.arm): row
        for row in kept[[*keys, "arm", "status", "own", "outcome", "threshold"]].itertuples(index=False)
    }
    names = analysis.arms.names
    drawn = _drawn(analysis, shown["configuration"].unique().tolist())
    rows = []
    for configuration, replicate in zip(shown["configuration"].tolist(), shown["replicate"].tolist(), strict=True):
        own = [by_key.get((configuration, replicate, arm)) for arm in names]
        task = [text(tasks[replicate // TASK_BLOCK], 40)] if tasks else []
        cells = [*task, str(configuration), *([str(replicate % TASK_BLOCK)] if repeated else [])]
        cells += drawn[configuration]
        cells += [part for each in own for part in _cell(analysis, each)]
        if len(names) == 2:
            first, second = (np.nan if each is None else float(each.own) for each in own)
            cells.append(DASH if np.isnan(second - first) else minus(score(second - first)))
        rows.append(tuple(cells))
    columns = [*(["task"] if tasks else []), "configuration", *(["replicate"] if repeated else [])]
    varied = [text(name, 40) for name in analysis.hyperparameters]
    columns += varied
    ended = "outcome" if analysis.frames.has_thresholds else "status"
    columns += [part for arm in names for part in (text(arm, 40), f"{text(arm, 40)} {ended}")]
    if len(names) == 2:
        columns.append(f"{text(names[1], 40)} − {text(names[0], 40)}")
    if not analysis.frames.has_thresholds and (kept["status"] == "finished").all():
        alike = {f"{text(arm, 40)} status" for arm in names}
        shows = [name not in alike for name in columns]
        columns = [name for name, show in zip(columns, shows, strict=True) if show]
        rows = [tuple(cell for cell, show in zip(row, shows, strict=True) if show) for row in rows]
    caption = f"Each configuration with every arm; {analysis.metric_words} at the {analysis.epoch} epoch."
    reading = _reading(analysis, len(index), len(shown))
    return ConfigurationTable(tuple(columns), tuple(rows), caption, reading, tuple(varied))


def _drawn(analysis: Analysis, configurations: list[int]) -> dict[int, list[str]]:
    """The cells of the hyperparameters that differ, by configuration."""
    frame = analysis.frames.configurations.loc[configurations]
    # As in a row of the frame: numbers beside text keep their types, others have a common one.
    common = frame.iloc[0].dtype if len(frame) else np.dtype(object)
    columns = [
        frame[name] if common == np.dtype(object) else frame[name].astype(common) for name in analysis.hyperparameters
    ]
    cells = [[NONE if pd.isna(value) else number(value) for value in column.array] for column in columns]
    return {each: [column[place] for column in cells] for place, each in enumerate(configurations)}


def _cell(analysis: Analysis, row: Any) -> tuple[str, str]:
    """A trial's own score, a dash where it has none, and its outcome or, without thresholds, its status."""
    if row is None:
        return DASH, DASH
    if pd.isna(row.outcome):
        return DASH, spaced(row.status)
    thresholds = analysis.frames.has_thresholds
    own = DASH if np.isnan(row.own) else score_beside(row.own, (row.threshold, analysis.good) if thresholds else ())
    if not thresholds:
        return own, spaced(row.status)
    ended = " (diverged)" if row.status == "diverged" else ""
    return own, OUTCOME_WORDS[row.outcome] + ended


def score_beside(value: float, limits: Iterable[float]) -> str:
    """A score to four decimals, or to as many as show on which side of the thresholds it is."""
    sides = [np.sign(value - limit) for limit in limits]
    for decimals in range(4, MOST_DECIMALS):
        written = brief(value, decimals)
        if [np.sign(float(written) - limit) for limit in limits] == sides:
            return written
    return brief(value, MOST_DECIMALS)


def _reading(analysis: Analysis, count: int, shown: int) -> str:
    scored = analysis.trials.dropna(subset=["score"])
    reading = plural(count, "configuration")
    if (analysis.trials["replicate"] > 0).any():
        of = "configuration, replicate and task" if analysis.frames.tasks else "configuration and replicate"
        reading = f"{plural(count, 'row')}, one for each {of}"
    if shown < count:
        reading += f", of which the first {shown} are in this table and all in the CSV"
    if scored.empty:
        return reading + "; none has a result yet."
    best = scored.iloc[int(analysis.goal.oriented(scored["score"]).argmax())]
    where = f"{text(best['arm'], 60)} on configuration {best['configuration']}"
    return f"{reading}; the best score is {score(best['score'])}, {where}."
