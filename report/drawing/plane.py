"""Arms on the plane of tuned performance against sensitivity, with their intervals as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from report.drawing.axes import legend_above
from report.drawing.style import INK, Arms, panel
from report.words import text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Point(NamedTuple):
    """An arm's place; intervals are None where there are none."""

    arm: str
    sensitivity: float
    tuned: float
    sensitivity_interval: tuple[float, float] | None
    tuned_interval: tuple[float, float] | None


def draw_plane(points: Sequence[Point], arms: Arms) -> Figure:
    """A point for each arm: to the left less sensitive, further up better when tuned for each task."""
    figure, axes = panel(height=4.2)
    for point in points:
        colour = arms.colour(point.arm)
        if point.sensitivity_interval is not None and point.tuned_interval is not None:
            axes.plot(point.sensitivity_interval, [point.tuned] * 2, color=colour, alpha=0.5, linewidth=1)
            axes.plot([point.sensitivity] * 2, point.tuned_interval, color=colour, alpha=0.5, linewidth=1)
        axes.plot(
            point.sensitivity,
            point.tuned,
            arms.marker(point.arm),
            color=colour,
            markersize=8,
            markeredgecolor=INK,
            linestyle="none",
            label=text(point.arm, 40),
        )
    axes.set_xlabel("sensitivity: gain of tuning for each task")
    axes.set_ylabel("tuned performance, normalised")
    legend_above(figure, handletextpad=0.3)
    return figure
