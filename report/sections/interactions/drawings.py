"""The drawings of where arms differ: scores along a hyperparameter, and the difference in another space."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from report.comparison import turned
from report.drawing.axes import legend_above, plain_numbers
from report.drawing.style import INK, panel
from report.frames import TASK_BLOCK
from report.scales import is_logarithmic, log_names
from report.sections.interactions.entries import OtherSpace
from report.words import number, text, typeset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST_VALUES = 12
"""With more different values, the line goes through the medians of groups of configurations."""
GROUPS = 8
MOST_POINTS = 1000
"""Of each arm; more cannot be distinguished by eye."""
WIDEST = 40
"""Characters of a line beside the axis."""


def draw_scores(analysis: Analysis, arms: list[str], name: str, task: int | None = None) -> Figure:
    """The score of every trial, or of those on a task, against a hyperparameter, with lines through medians.

    `task` is the task's place in the study.
    """
    figure, axes = panel()
    values = analysis.values(name)
    numeric = pd.to_numeric(values, errors="coerce")
    is_number = bool(numeric.notna().sum() == values.notna().sum())
    kinds = sorted({str(value) for value in values.dropna()})
    logarithmic = is_number and is_logarithmic(numeric, declared=name in log_names(analysis.frames))
    places = numeric if is_number else values.map(lambda value: kinds.index(str(value)), na_action="ignore")
    discrete = values.nunique() <= MOST_VALUES
    known = places.dropna().to_numpy(dtype=float)
    ends = np.unique(np.log(known) if logarithmic else known)
    # Points of several arms at one value stand side by side.
    step = min(0.14, 0.4 / max(1, len(arms) - 1)) * float(np.diff(ends).min()) if discrete and len(ends) > 1 else 0.0
    for line, arm in enumerate(arms):
        own = (analysis.trials["arm"] == arm) & analysis.trials["paired"] & values.notna()
        if task is not None:
            own &= analysis.trials["replicate"] // TASK_BLOCK == task
        x = places[own].astype(float)
        y = analysis.trials.loc[own, "score"].astype(float)
        aside = step * (line - (len(arms) - 1) / 2)
        shown = x * np.exp(aside) if logarithmic else x + aside
        colour = analysis.arms.colour(arm)
        few = np.linspace(0, len(shown) - 1, min(len(shown), MOST_POINTS)).round().astype(int)
        axes.plot(
            shown.iloc[few],
            y.iloc[few],
            analysis.arms.marker(arm),
            color=colour,
            alpha=0.35,
            markersize=4,
            linestyle="none",
        )
        middle = _medians(shown, y, discrete)
        style = {"color": colour, "linestyle": analysis.arms.dash(arm), "marker": analysis.arms.marker(arm)}
        axes.plot(middle.index, middle, label=text(arm, 40), linewidth=1.8, markersize=6, **style)
    if logarithmic:
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
    elif not is_number:
        axes.set_xticks(range(len(kinds)), [text(kind, 16) for kind in kinds])
    if is_number and discrete:
        ticks = sorted(numeric.dropna().unique().tolist())
        axes.set_xticks(ticks, [typeset(number(tick)) for tick in ticks])
        axes.minorticks_off()
    axes.set_xlabel(text(name, 40))
    axes.set_ylabel(analysis.metric_words)
    legend_above(figure)
    return figure


def _medians(x: pd.Series[Any], y: pd.Series[Any], discrete: bool) -> pd.Series[Any]:
    """The median of y at each x or, where x has many values, in eight groups of equal size at their median x."""
    # The hyperparameter may be from the space of another arm, of which this one has no value.
    if discrete or x.empty:
        return y.groupby(x).median()
    groups = pd.qcut(x.rank(method="first"), min(GROUPS, len(x)), labels=False)
    return pd.Series(y.groupby(groups).median().to_numpy(), index=x.groupby(groups).median().to_numpy())


def draw_space(arms: list[str], other: OtherSpace) -> Figure:
    """The difference of two arms against the share of configurations with these values, with its interval."""
    figure, axes = panel()
    shares = [100 * each["share"] for each in other["curve"]]
    # Of two arms, and so in the colour of neither.
    axes.plot(shares, [100 * (turned(each)[0] or 0.0) for each in other["curve"]], color=INK, linewidth=1.8)
    known = [each for each in other["curve"] if each["low"] is not None and each["high"] is not None]
    low, high = ([100 * float(turned(each)[end] or 0.0) for each in known] for end in (1, 2))
    axes.fill_between([100 * e["share"] for e in known], low, high, color=INK, alpha=0.14, linewidth=0)
    axes.axvline(100 * other["drawn"], color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.text(100 * other["drawn"], 1.0, " this study", transform=axes.get_xaxis_transform(), va="top", fontsize=9.5)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"% of configurations with {group_words(other)}")
    axes.set_ylabel(fill(f"{text(arms[1], 40)} minus {text(arms[0], 40)}, points", WIDEST))
    return figure


def group_words(other: OtherSpace) -> str:
    """The group of levels: `initial_rho >= -2`, or `optimizer sgd`."""
    numbers = [value for value in other["values"] if isinstance(value, (int, float)) and not isinstance(value, bool)]
    is_end = len(numbers) == len(other["values"])
    values = f">= {min(numbers)}" if is_end else text(", ".join(str(value) for value in other["values"]), 80)
    return f"{text(other['hyperparameter'], 40)} {values}"
