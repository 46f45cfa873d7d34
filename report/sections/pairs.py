"""Paired scatter: each configuration's score with one arm against its score with the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from report.document import Numbers, Picture, Section, drawn_of
from report.drawing.style import INK, panel
from report.judged_study import JudgedStudy
from report.records.comparisons import ScoreComparison
from report.scales import margin
from report.words import MANY, capitalised, signed, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST_POINTS = 1500
MOST_PAIRINGS = 6
NO_DIFFERENCE = signed(0.0, 4)


def results(study: JudgedStudy) -> list[ScoreComparison]:
    """Every comparison of two arms by their scores, both epochs."""
    return study.score_comparisons


def sections(analysis: Analysis) -> Iterator[Section]:
    """A scatter for every two arms, with the identity line; none without a complete pair of two arms."""
    if analysis.pairs.empty or len(analysis.arms.names) < 2 or not analysis.frames.paired:
        return
    scores = analysis.pairs.pivot_table(index=["configuration", "replicate"], columns="arm", values="score")
    pictures, rows, thinned, equal_drawn = [], [], False, False
    for place, (first, second) in enumerate(analysis.frames.compared):
        if first not in scores or second not in scores:
            continue
        both = scores[[first, second]].dropna()
        if both.empty:
            continue
        gain = (both[second] - both[first]).to_numpy()
        ahead = analysis.goal.oriented(gain)
        wins, losses = int((ahead > 0).sum()), int((ahead < 0).sum())
        ties = len(gain) - wins - losses
        names = (text(first, 60), text(second, 60))
        rows.append(
            (
                f"{names[1]} against {names[0]}",
                str(len(gain)),
                str(wins),
                str(ties),
                str(losses),
                signed(float(np.median(gain)), 4),
            )
        )
        if place >= MOST_PAIRINGS:
            continue
        thinned |= len(both) > MOST_POINTS
        equal_drawn |= ties > 0
        pictures.append(
            Picture(
                f"pairs-{place}",
                f"{text(second)} against {text(first)}",
                f"A point for each of {len(gain)} pairs, {names[0]} across and {names[1]} up: {wins} {analysis.beyond} "
                f"the line of equal scores, {losses} on its other side, {ties} on it.",
                partial(_draw, analysis, both),
            )
        )
    if not pictures:
        return
    clauses = [f"{arms} {better} of {count} ({worse} worse)" for arms, count, better, _, worse, _ in rows]
    more = len(clauses) - MOST_PAIRINGS
    reading = f"Pairs in which the arm named first has the better score: {', '.join(clauses[:MOST_PAIRINGS])}" + (
        f"; {more} more in the table." if more > 0 else "."
    )
    shades = "Shaded bands are scores that count as good; " if analysis.frames.has_thresholds else ""
    lower = ", since lower is better" if analysis.goal.minimizes else ""
    notes = [capitalised(f"{shades}points {analysis.beyond} the diagonal favour the arm named first{lower}.")]
    if any(median == NO_DIFFERENCE for *_, median in rows):
        notes.append(
            f"A median difference of {NO_DIFFERENCE} is less than 0.00005 either way: pairs that favour one arm "
            "balance those that favour the other, or in many both have the same score."
        )
    if equal_drawn:
        notes.append("A cross is a configuration whose scores are equal.")
    notes += drawn_of(MOST_PAIRINGS, len(rows), "pairs of arms")
    if thinned:
        notes.append(f"An even sample of {MOST_POINTS} pairs is drawn.")
    columns = ("Arms", "Pairs", "Better", "Equal", "Worse", "Median difference")
    yield Section("pairs", "Pair by pair", reading, tuple(pictures), Numbers(columns, tuple(rows)), tuple(notes))


def _draw(analysis: Analysis, both: pd.DataFrame) -> Figure:
    first, second = both.columns
    figure, axes = panel(height=4.6)
    if len(both) > MOST_POINTS:
        both = both.iloc[np.linspace(0, len(both) - 1, MOST_POINTS).round().astype(int)]
    values = both.to_numpy()
    low, high = float(values.min()), float(values.max())
    pad = margin(low, high, 0.06)
    limits = (low - pad, high + pad)
    axes.plot(limits, limits, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    if limits[0] < analysis.good < limits[1]:
        shade: dict[str, Any] = {"alpha": 0.09, "linewidth": 0}
        end = limits[0] if analysis.goal.minimizes else limits[1]
        axes.axhspan(analysis.good, end, color=analysis.arms.colour(second), **shade)
        axes.axvspan(analysis.good, end, color=analysis.arms.colour(first), **shade)
    above = analysis.goal.better(values[:, 1], values[:, 0])
    below = analysis.goal.better(values[:, 0], values[:, 1])
    many = len(values) > 300
    look: dict[str, Any] = {
        "s": 12 if many else 30,
        "alpha": 0.5 if many else 0.85,
        "linewidths": 0.4,
        "edgecolors": INK,
    }
    for chosen, colour_of in ((above, second), (below, first)):
        if chosen.any():
            marker = analysis.arms.marker(colour_of)
            axes.scatter(values[chosen, 0], values[chosen, 1], c=analysis.arms.colour(colour_of), marker=marker, **look)
    even = ~(above | below)
    if even.any():
        axes.scatter(values[even, 0], values[even, 1], c=INK, marker="x", s=24, linewidths=1)
    axes.set_xlim(limits)
    axes.set_ylim(limits)
    axes.set_aspect("equal")
    axes.set_xlabel(f"{analysis.metric_words} of {text(first, 40)}")
    axes.set_ylabel(f"{analysis.metric_words} of {text(second, 40)}")
    place: dict[str, Any] = {"transform": axes.transAxes, "fontsize": 9.5, "style": "italic"}
    # Outside the axes, where no point can lie under the words.
    up, across = (first, second) if analysis.goal.minimizes else (second, first)
    # The power of ten of large numbers stands above the corner.
    aside = 0.0 if max(map(abs, limits)) < MANY else 0.14
    axes.text(aside, 1.02, f"{text(up, 40)} better", ha="left", va="bottom", **place)
    axes.text(1.02, 0.0, f"{text(across, 40)} better", ha="left", va="bottom", rotation=270, **place)
    return figure
