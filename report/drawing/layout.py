"""Margins just wide enough for labels: one measurement, many times faster than matplotlib's own layout engines.

The only module that imports matplotlib at its top; `panel` imports it when something is drawn.
"""

from __future__ import annotations

from typing import Any

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine

PAD = 4.0
"""Points around everything."""
ROOM = 0.3
"""The least share of a side that the axes keep, however long the labels are."""


class TightMargins(LayoutEngine):
    """Gives a figure's one pair of axes all the room that its labels and the figure's legend on top leave.

    The size of everything around the axes is measured once, at a first guess of their place; ticks may differ a little
    at the final one.
    """

    _adjust_compatible = True
    _colorbar_gridspec = False

    def execute(self, fig: Any) -> None:
        figure: Figure = fig
        width, height = figure.bbox.width, figure.bbox.height
        renderer = RendererAgg(width, height, figure.dpi)  # type: ignore[no-untyped-call]
        pad = PAD * figure.dpi / 72
        legend = max((each.get_window_extent(renderer).height for each in figure.legends), default=0.0)
        for axes in figure.axes:
            axes.set_position((0.15, 0.15, 0.7, 0.7))
            inner, outer = axes.get_window_extent(renderer), axes.get_tightbbox(renderer)
            if outer is None:
                continue
            left = (max(0.0, inner.x0 - outer.x0) + pad) / width
            right = (max(0.0, outer.x1 - inner.x1) + pad) / width
            bottom = (max(0.0, inner.y0 - outer.y0) + pad) / height
            top = (max(0.0, outer.y1 - inner.y1) + pad + legend) / height
            left, right = _leave_room(left, right)
            bottom, top = _leave_room(bottom, top)
            axes.set_position((left, bottom, 1 - left - right, 1 - bottom - top))


def _leave_room(first: float, second: float) -> tuple[float, float]:
    excess = (first + second) / (1 - ROOM)
    return (first, second) if excess <= 1 else (first / excess, second / excess)
