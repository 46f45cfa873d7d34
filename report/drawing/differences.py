"""Differences with their intervals, one under the other, about a line at zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from report.drawing.style import INK, panel
from report.records.comparisons import Change
from report.records.estimates import known
from report.words import has_interval, is_significant, signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BESIDE = 0.08
"""The share of the width within which a number would lie on the line at zero, and is put beside it."""


@dataclass(frozen=True)
class Row:
    """One difference."""

    label: str
    entry: Change
    colour: str
    marker: str = "o"


def draw_differences(rows: Sequence[Row], across: str, factor: float = 1.0, decimals: int = 0) -> Figure:
    """A point and its 95 % interval for each row, from the top down; filled if significant after correction."""
    figure, axes = panel(height=1.5 + 0.52 * len(rows))
    axes.axvline(0, color=INK, linewidth=1)
    drawn = [
        (place, row, factor * row.entry["difference"])
        for place, row in enumerate(rows)
        if row.entry["difference"] is not None
    ]
    reached = [0.0, *(end for _, row, _ in drawn for end in _ends(row.entry, factor))]
    width = max(reached) - min(reached)
    for place, row, value in drawn:
        axes.plot(_ends(row.entry, factor), [place, place], color=row.colour, linewidth=2.2, solid_capstyle="butt")
        fill = row.colour if is_significant(row.entry["p_adjusted"]) else "white"
        axes.plot(value, place, row.marker, color=fill, markeredgecolor=row.colour, markeredgewidth=1.6, markersize=8)
        side = 0 if abs(value) > BESIDE * width else -1 if value < 0 else 1
        axes.annotate(
            signed(value, decimals) + ("" if has_interval(row.entry) else ", no interval"),
            (0 if side else value, place),
            xytext=(3 * side, 8),
            textcoords="offset points",
            ha=("right", "center", "left")[side + 1],
            fontsize=9,
        )
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.75)
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.12)
    axes.set_xlabel(across)
    return figure


def _ends(entry: Change, factor: float) -> tuple[float, float]:
    """The ends of a row: of its interval, or its point twice."""
    low, high = (entry["low"], entry["high"]) if has_interval(entry) else (entry["difference"], entry["difference"])
    return factor * known(low), factor * known(high)
