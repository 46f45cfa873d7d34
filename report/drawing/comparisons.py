"""Comparisons of arms with their intervals and verdicts, one under the other, about a line at zero."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from report.drawing.style import INK, VERDICT_COLOURS, panel
from report.words import text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.first_screen.lines import Comparisons, Line

WIDEST = 42
"""Characters of a line below the axis."""
MARKERS = {"different": "o", "equivalent": "s", "undecided": "o"}


def draw_comparisons(compared: Comparisons) -> Figure:
    """A point and its interval for each line, in the colour of its verdict, which is written beside it."""
    lines = compared.lines
    factor = compared.unit.factor
    figure, axes = panel(height=1.7 + 0.5 * len(lines))
    if compared.margin is not None:
        axes.axvspan(-factor * compared.margin, factor * compared.margin, color=INK, alpha=0.1, linewidth=0)
    axes.axvline(0, color=INK, linewidth=1)
    for place, line in enumerate(lines):
        colour = VERDICT_COLOURS[line.verdict]
        value, *ends = (factor * each for each in line.on_axis())
        inside = "white" if line.verdict == "undecided" else colour
        marker = MARKERS[line.verdict]
        axes.plot(value, place, marker, color=inside, markeredgecolor=colour, markeredgewidth=1.6, markersize=8)
        if ends:  # over the marker, which may be wider
            axes.plot(ends, [place, place], color=colour, linewidth=2.2, solid_capstyle="butt")
        beside = axes.get_yaxis_transform()
        axes.text(1.02, place, f"{line.value}\n{line.verdict}", transform=beside, va="center", fontsize=9)
    axes.set_yticks(range(len(lines)), [_label(line) for line in lines])
    axes.set_ylim(len(lines) - 0.5, -0.8)
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.08)
    axes.set_xlabel(fill(compared.axis, WIDEST))
    return figure


def _label(line: Line) -> str:
    if line.task is not None:
        return text(line.task, 30)
    return "\nvs ".join(text(arm, 30) for arm in line.arms)
