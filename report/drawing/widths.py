"""Figures at the width of a paper's column or page, with type that can be read at that size.

A figure is drawn for the page of the report first. Here it gets its new size, and everything in it that is measured in
points, which is type, lines and markers, becomes smaller, though type never below 7 pt. A legend that no longer fits
gets fewer columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

Width: TypeAlias = Literal["column", "page"]
LEAST_TYPE = 7.0
"""In points."""


@dataclass(frozen=True)
class Size:
    """The size of a figure in a paper."""

    width: float
    """In inches."""
    height: float
    """The height of a figure in units of its width, as a multiple of that in the report."""
    type: float
    """The size of type, lines and markers, as a multiple of that in the report."""


WIDTHS: dict[Width, Size] = {"column": Size(3.3, 1.1, 0.72), "page": Size(6.9, 0.75, 0.85)}


def fit_to(figure: Figure, width: Width) -> None:
    """Change a figure to the width of a column or page."""
    from matplotlib import collections, lines, text  # not needed before something is drawn

    size = WIDTHS[width]
    old_width, old_height = figure.get_size_inches()
    figure.set_size_inches(size.width, size.height * size.width * old_height / old_width)
    for words in figure.findobj(text.Text):
        if isinstance(words, text.Text):
            words.set_fontsize(max(LEAST_TYPE, size.type * float(words.get_fontsize())))
    for line in figure.findobj(lines.Line2D):
        if isinstance(line, lines.Line2D):
            line.set_linewidth(size.type * line.get_linewidth())
            line.set_markersize(size.type * line.get_markersize())
    for marks in figure.findobj(collections.PathCollection):
        if isinstance(marks, collections.PathCollection):
            marks.set_sizes(size.type**2 * marks.get_sizes())
    for axes in figure.axes:
        # Ticks that are made later take these.
        for which in ("x", "y"):
            labels = getattr(axes, f"{which}axis").get_ticklabels()
            if labels:
                axes.tick_params(axis=which, labelsize=labels[0].get_fontsize(), pad=2.5)
    for legend in list(figure.legends):
        _narrowed(figure, legend)


def _narrowed(figure: Figure, legend: Legend) -> None:
    """Draw a figure's legend with as many columns as fit."""
    handles = legend.legend_handles
    names = [text.get_text() for text in legend.get_texts()]
    type_size = legend.get_texts()[0].get_fontsize() if names else LEAST_TYPE
    for columns in range(min(3, len(names)), 0, -1):
        legend.remove()
        legend = figure.legend(
            [handle for handle in handles if handle is not None],
            names,
            loc="upper left",
            ncols=columns,
            fontsize=type_size,
            handlelength=1.4,
            columnspacing=1.2,
            borderaxespad=0.2,
        )
        if legend.get_window_extent().width <= figure.bbox.width:
            return
