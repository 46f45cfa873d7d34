"""Colours, sizes and the empty axes that every figure starts from.

Arms have the colours of Okabe and Ito (2008), which colour-blind readers can tell apart, in the order of the study
file, so an arm keeps its colour through the whole report; the eighth is the text's own. From the ninth arm on, colours
come again with another line and marker. Outcomes have three of Tol's muted colours, none of them an arm's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from report.drawing.layout import TightMargins
from report.drawing.svg import INK as INK

ARM_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B5A900", INK)
OUTCOME_COLOURS = {"learned_nothing": "#AA4499", "between": "#999933", "good": "#44AA99"}
OUTCOME_WORDS = {"learned_nothing": "learned nothing", "between": "between", "good": "good"}
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
PANEL = (5.2, 3.7)
"""Width and height of a panel in inches, of 72 SVG units each: its text stays readable on a telephone."""

_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.labelsize": 10.5,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "grid.color": INK,
    "grid.alpha": 0.13,
    "grid.linewidth": 0.7,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
    "pdf.fonttype": 42,
}
# Characters that XML cannot hold, among them lone surrogates.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Picture:
    """One panel: what draws it, and what it says to those who cannot see it."""

    name: str
    """Unique in the report; the name of its file and the beginning of its ids."""
    title: str
    description: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Numbers:
    """The table beside a picture."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Thumbnail:
    """A small picture with what is known of it."""

    source: str
    """Its address: a data URL, since the page asks no host for anything."""
    words: str
    """For those who cannot see it."""
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Gallery:
    """Thumbnails that belong together."""

    title: str
    thumbnails: tuple[Thumbnail, ...]


@dataclass(frozen=True)
class Section:
    """A part of the report: one question, what the data says to it, the pictures and the numbers behind them."""

    name: str
    title: str
    reading: str
    """One sentence, computed from the data."""
    pictures: tuple[Picture, ...] = ()
    numbers: Numbers | None = None
    notes: tuple[str, ...] = ()
    """How to read the pictures, and what was left out of them."""
    galleries: tuple[Gallery, ...] = ()


@contextmanager
def drawing() -> Iterator[None]:
    """The report's own settings of matplotlib, for as long as this lasts."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in _RC.items():
            matplotlib.rcParams[name] = value  # type: ignore[index]
        yield


def panel(width: float = PANEL[0], height: float = PANEL[1]) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes; no window and no global state behind it."""
    figure = Figure(figsize=(width, height), layout=TightMargins())
    return figure, figure.add_subplot()


def text(value: object, limit: int = 26) -> str:
    """A name as a picture can show it: one line, not too long, nothing that XML forbids."""
    clean = _UNFIT.sub("\ufffd", " ".join(str(value).split()))
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def number(value: object) -> str:
    """A hyperparameter's value in a few characters."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text(value, 14)
    return f"{value:.4g}".replace("e-0", "e-")


@dataclass(frozen=True)
class Arms:
    """How each arm is drawn, in the order of the study file."""

    names: tuple[str, ...]

    def colour(self, arm: str) -> str:
        return ARM_COLOURS[self.names.index(arm) % len(ARM_COLOURS)]

    def dash(self, arm: str) -> Any:
        return DASHES[self.names.index(arm) // len(ARM_COLOURS) % len(DASHES)]

    def marker(self, arm: str) -> str:
        return MARKERS[self.names.index(arm) % len(MARKERS)]


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
        axes.text(1.06, place, text(name, 18), transform=axes.transAxes, va="center", ha="left", fontweight="bold")
