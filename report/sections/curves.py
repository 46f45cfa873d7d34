"""Learning curves of every trial, coloured by its outcome: one panel for each arm."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.document import Numbers, Picture, Section
from report.drawing.axes import draw_lines, legend_above
from report.drawing.style import OUTCOME_COLOURS, panel
from report.frames import KEY
from report.scales import margin
from report.sections.thresholds import dashed_lines
from report.words import OUTCOME_WORDS, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST_CURVES = 150
"""More cannot be distinguished by eye; a panel then shows an even sample, and says so."""


def sections(analysis: Analysis) -> Iterator[Section]:
    """The learning curves; none if no epoch has the study's metric, or nothing is trained in a single epoch."""
    epochs = analysis.epochs
    if analysis.metric not in epochs.columns:
        return
    if analysis.alone and (epochs["epoch"] == 1).all():
        return
    imported = analysis.frames.document.get("trainable") == "imported"
    if imported and epochs.groupby(["configuration", "arm", "replicate"]).size().max() <= 2:
        # A run of one epoch has no curve; two may be no more than the best epoch and the last.
        return
    judged = analysis.trials.dropna(subset=["outcome"])
    # An imported run may have a result and no epochs.
    measured = judged.dropna(subset=["last_epoch"])
    if measured.empty:
        return
    sample = pd.concat([_sample(measured.loc[measured["arm"] == arm]) for arm in analysis.arms.names])
    drawn = analysis.frames.trained(analysis.metric).merge(sample, on=KEY)
    drawn = drawn.loc[np.isfinite(drawn[analysis.metric])]
    last = float(measured["last_epoch"].max())
    pictures, rows, thinned, thresholds = [], [], False, analysis.frames.has_thresholds
    for place, arm in enumerate(analysis.arms.names):
        own = measured.loc[measured["arm"] == arm]
        if own.empty:
            continue
        lines = [
            (str(group["outcome"].iloc[0]), group[["epoch", analysis.metric]].to_numpy())
            for _, group in drawn.loc[drawn["arm"] == arm].groupby(["configuration", "replicate"], sort=True)
        ]
        thinned |= len(lines) < len(own)
        counts = judged.loc[judged["arm"] == arm, "outcome"].value_counts()
        outcomes = ", ".join(f"{counts.get(key, 0)} {word}" for key, word in OUTCOME_WORDS.items())
        judging = f": {outcomes}" if thresholds else ""
        pictures.append(
            Picture(
                f"curves-{place}",
                f"Learning curves of {text(arm)}",
                f"{analysis.metric_words} by epoch, one line for each trial of {text(arm, 60)}{judging}.",
                partial(_draw, analysis, lines, last, None if thresholds else arm),
            )
        )
        rows.append((text(arm, 60), *(str(counts.get(key, 0)) for key in OUTCOME_WORDS)))
    notes = [f"An even sample of {MOST_CURVES} trials is drawn where an arm has more."] if thinned else []
    if analysis.judge.cells:
        notes.append(dashed_lines(analysis).replace("shares at this line differ", "outcomes at this line differ"))
    yield Section(
        "curves",
        "Learning curves",
        _reading(measured, analysis),
        tuple(pictures),
        # Without thresholds, every trial is between them.
        Numbers(("Arm", *(word.capitalize() for word in OUTCOME_WORDS.values())), tuple(rows)) if thresholds else None,
        tuple(notes),
    )


def _sample(trials: pd.DataFrame) -> pd.DataFrame:
    """The key and the outcome of an even sample of the trials of an arm."""
    places = np.linspace(0, len(trials) - 1, min(len(trials), MOST_CURVES)).round().astype(int)
    return trials[[*KEY, "outcome"]].iloc[places]


def _draw(analysis: Analysis, lines: list[tuple[str, NDArray[np.float64]]], last: float, arm: str | None) -> Figure:
    """The curves in the colours of their outcomes or, without thresholds, in that of their arm."""
    figure, axes = panel()
    strength = float(np.clip(12 / max(len(lines), 1), 0.25, 0.85))
    seen = [outcome for outcome in OUTCOME_COLOURS if any(each == outcome for each, _ in lines)]
    for outcome in seen:
        paths = [path for each, path in lines if each == outcome]
        colour = OUTCOME_COLOURS[outcome] if arm is None else analysis.arms.colour(arm)
        draw_lines(axes, paths, colour, strength)
        single = [path[0] for path in paths if len(path) == 1]
        if single:
            axes.plot(*np.array(single).T, ".", color=colour, alpha=strength)
    values = np.concatenate([path[:, 1] for _, path in lines])
    first = min(float(path[0, 0]) for _, path in lines)
    axes.set_xlim(first - 0.02 * max(last - first, 1), last + 0.02 * max(last - first, 1))
    low, high = float(values.min()), float(values.max())
    pad = margin(low, high, 0.05)
    axes.set_ylim(low - pad, high + pad)
    for outcome, level in (("good", analysis.good), ("learned_nothing", analysis.nothing)):
        if np.isfinite(level) and axes.get_ylim()[0] < level < axes.get_ylim()[1]:
            axes.axhline(level, color=OUTCOME_COLOURS[outcome], linewidth=1, linestyle=(0, (4, 3)))
    if arm is None:
        for outcome in seen:
            axes.plot([], [], color=OUTCOME_COLOURS[outcome], linewidth=3, label=OUTCOME_WORDS[outcome])
        legend_above(figure, handlelength=1.2)
    axes.set_xlabel("epoch")
    axes.set_ylabel(analysis.metric_words)
    return figure


def _reading(trials: pd.DataFrame, analysis: Analysis) -> str:
    fell = analysis.goal.oriented(trials["best"] - trials["last"]).groupby(trials["arm"]).median()
    losses = "; ".join(f"{text(arm, 40)} {fell[arm]:.3f}" for arm in analysis.arms.names if arm in fell.index)
    side = "above" if analysis.goal.minimizes else "below"
    unit = analysis.in_metric
    return f"By how much the median trial ends {side} its own best epoch{f',{unit}' if unit else ''}: {losses}."
