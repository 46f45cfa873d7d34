"""Colours, sizes and the empty axes that every figure starts from; `templates/theme.css` has the same colours.

Arms have the colours of Okabe and Ito (2008), which colour-blind readers can tell apart, in the order of the study
file, so an arm keeps its colour through the whole report; the eighth is that of the text. From the ninth arm on,
colours repeat with another line and marker. Outcomes have three of Tol's muted colours, none of them an arm's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from report.drawing.svg import INK as INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ARM_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#B5A900", INK)
OUTCOME_COLOURS = {"learned_nothing": "#AA4499", "between": "#999933", "good": "#44AA99"}
VERDICT_COLOURS = {"different": "#5B3FA8", "equivalent": "#00695C", "undecided": "#57606A"}
"""Of comparisons, as in `templates/theme.css`; every verdict is also a word and a marker."""
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


@contextmanager
def drawing() -> Iterator[None]:
    """Apply the report's settings of matplotlib within this context."""
    import matplotlib  # not needed before something is drawn

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        for name, value in _RC.items():
            matplotlib.rcParams[name] = value  # type: ignore[index]
        yield


def panel(width: float = PANEL[0], height: float = PANEL[1]) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes; no window and no global state behind it."""
    from matplotlib.figure import Figure  # not needed before something is drawn

    from report.drawing.layout import TightMargins  # imports matplotlib

    figure = Figure(figsize=(width, height), layout=TightMargins())
    return figure, figure.add_subplot()


def two_panels(width: float = PANEL[0], height: float = PANEL[1]) -> tuple[Figure, tuple[Axes, Axes]]:
    """An empty figure with two pairs of axes side by side, which share their vertical axis."""
    from matplotlib.figure import Figure  # not needed before something is drawn

    figure = Figure(figsize=(width, height))
    left = figure.add_axes((0.12, 0.15, 0.4, 0.72))
    right = figure.add_axes((0.58, 0.15, 0.4, 0.72), sharey=left)
    right.tick_params(labelleft=False)
    return figure, (left, right)


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
