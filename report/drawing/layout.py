"""Margins just wide enough for labels: one measurement, many times faster than matplotlib's own layout engines.

The only module that imports matplotlib at its top; `panel` imports it when something is drawn.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator

PAD = 4.0
"""Points around everything."""
ROOM = 0.3
"""The least share of a side that the axes keep, however long the labels are."""
GAP = 3.0
"""Pixels between two labels of ticks."""
MOST_TICKS = 6
"""On a logarithmic axis."""


class RoundTicks(LogLocator):
    """Ticks of a logarithmic axis: powers of ten or, where fewer than two are in view, 1, 2 and 5 times them."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        low, high = sorted((vmin, vmax))
        if not low > 0 or not math.isfinite(high) or low == high:
            return super().tick_values(vmin, vmax)
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        step = max(1, math.ceil((last - first + 1) / MOST_TICKS))
        for factors in ((1,), (1, 3), (1, 2, 5)):
            powers = range(first, last + 1, step if factors == (1,) else 1)
            ticks = [factor * 10.0**power for power in powers for factor in factors]
            if 2 <= sum(low <= tick <= high for tick in ticks) <= MOST_TICKS:
                return ticks
        return MaxNLocator(4).tick_values(low, high)


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
        legend = max((height - each.get_window_extent(renderer).y0 for each in figure.legends), default=0.0)
        for axes in figure.axes:
            axes.set_position((0.15, 0.15, 0.7, 0.7))
            separate_labels(axes, renderer)
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


def separate_labels(axes: Axes, renderer: Any) -> None:
    """Turn the labels of the horizontal axis where they would overlap, or have fewer of them if they are numbers."""
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = sorted((label.get_window_extent(renderer) for label in labels), key=lambda box: box.x0)
    if all(left.x1 + GAP <= right.x0 for left, right in pairwise(boxes)):
        return
    if not isinstance(axes.xaxis.get_major_locator(), FixedLocator):
        if axes.get_xscale() == "linear":
            axes.xaxis.set_major_locator(MaxNLocator(4))
        return
    height = max(box.height for box in boxes)
    apart = (boxes[-1].x1 - boxes[0].x0) / max(1, len(boxes) - 1)
    for label in labels:
        label.set(rotation=90 if apart < 1.8 * height else 40, ha="right", va="center", rotation_mode="anchor")


def _leave_room(first: float, second: float) -> tuple[float, float]:
    excess = (first + second) / (1 - ROOM)
    return (first, second) if excess <= 1 else (first / excess, second / excess)
