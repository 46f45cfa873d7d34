"""Parts of a picture that several sections draw: labels at the ends of lines, ticks, many lines, legend entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from report.drawing.style import Arms
from report.words import number, text, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


SHORT_NAME = 18
"""Longer names of arms are written smaller."""
SINGLE = "Hollow points are single observations, without an interval."


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places, moved as little as needed to be `gap` apart and, if they fit, between `low` and `high`."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for _ in range(100):
        for below, above in pairwise(order):
            lack = gap - (moved[above] - moved[below])
            if lack > 0:
                moved[below] -= lack / 2
                moved[above] += lack / 2
        if order:
            lift = max(0.0, low - moved[order[0]])
            drop = max(0.0, moved[order[-1]] - high)
            moved = [place + lift - drop for place in moved]
    return moved


def label_ends(axes: Axes, ends: Mapping[str, tuple[float, float]], arms: Arms) -> None:
    """Write each arm's name at the end of its line, in the margin on the right, none over another."""
    size = 10.5 if max(map(len, ends), default=0) <= SHORT_NAME else 8.5
    axes.autoscale_view()  # which would happen only when drawn, after the heights below were computed
    names = list(ends)
    scale = axes.transData
    heights = [float(axes.transAxes.inverted().transform(scale.transform((x, y)))[1]) for x, y in ends.values()]
    for name, height, place in zip(names, heights, spread(heights, 0.075, 0.02, 0.98), strict=True):
        axes.plot(
            [1.0, 1.03, 1.05],
            [min(max(height, 0.0), 1.0), place, place],
            transform=axes.transAxes,
            color=arms.colour(name),
            linewidth=1.4,
            clip_on=False,
        )
        words: dict[str, Any] = {"va": "center", "ha": "left", "fontweight": "bold", "fontsize": size}
        axes.text(1.06, place, text(name, 30), transform=axes.transAxes, **words)


def plain_numbers(axis: Axis) -> None:
    """Label the ticks of a logarithmic axis with numbers in place of powers of ten, few enough to be read."""
    from report.drawing.layout import RoundTicks  # imports matplotlib

    if getattr(axis.get_major_locator(), "_base", 10) == 10:
        axis.set_major_locator(RoundTicks())
    axis.set_major_formatter(lambda value, _: typeset(number(value)))
    axis.set_minor_formatter(lambda *_: "")


def mark_single(axes: Axes, x: float, y: float, colour: str, marker: str, size: float = 5.0) -> None:
    """Draw a single observation, which has no interval, as a hollow point over its line."""
    axes.plot(x, y, marker, color="white", markeredgecolor=colour, markeredgewidth=1.4, markersize=size, zorder=5)


def integer_ticks(axis: Axis) -> None:
    """Put ticks at integers only."""
    axis.set_major_locator(_locators().MaxNLocator(integer=True))


def powers_of_two(axis: Axis) -> None:
    """Put the ticks of a logarithmic axis at powers of two only."""
    axis.set_major_locator(_locators().LogLocator(base=2))
    axis.set_minor_locator(_locators().NullLocator())


def _locators() -> ModuleType:
    from matplotlib import ticker  # not needed before something is drawn

    return ticker


def draw_lines(axes: Axes, paths: Sequence[NDArray[np.float64]], colour: str, alpha: float) -> None:
    """Draw many lines, each [points, 2], as one collection; it does not change the limits of the axes."""
    from matplotlib.collections import LineCollection  # not needed before something is drawn

    axes.add_collection(LineCollection(paths, colors=colour, alpha=alpha, linewidths=1.0))


def legend_above(figure: Figure, most: int = 3, **look: Any) -> None:
    """Put the legend above the axes, where no data lie under it, in as many columns as whole names fit into."""
    for columns in range(most, 0, -1):
        style = {"handlelength": 1.4, "columnspacing": 1.2} | look
        legend = figure.legend(loc="upper left", ncols=columns, fontsize=9.5, **style)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def legend_line(label: str, colour: str, **style: Any) -> Line2D:
    """A line that stands only in a legend."""
    from matplotlib.lines import Line2D  # not needed before something is drawn

    return Line2D([], [], color=colour, label=label, **style)
