"""Mean ranks of arms on a line, with bars over those that are not told apart (Demsar 2006)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from report.drawing.style import INK, Arms, panel
from report.words import text
from robustness.statistics.ranks import cliques

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_ranks(means: Mapping[str, float], critical: float, arms: Arms) -> Figure:
    """A row for each arm at its mean rank, best on top; bars join arms closer than the critical difference."""
    names = sorted(means, key=lambda arm: means[arm])
    figure, axes = panel(height=max(2.4, 1.2 + 0.4 * len(names)))
    for row, arm in enumerate(names):
        axes.plot(means[arm], row, arms.marker(arm), color=arms.colour(arm), markersize=8, markeredgecolor=INK)
    values = [means[arm] for arm in names]
    for group in cliques(values, critical):
        rows = sorted(group)
        middle = (rows[0] + rows[-1]) / 2
        axes.plot([values[rows[0]], values[rows[-1]]], [middle, middle], color=INK, linewidth=3, alpha=0.35)
    axes.plot([1, 1 + critical], [len(names) - 0.4] * 2, "|-", color=INK, linewidth=1)
    axes.text(1 + critical, len(names) - 0.4, f"  critical difference {critical:.2f}", va="center", fontsize=9.5)
    axes.set_yticks(range(len(names)), [text(arm, 18) for arm in names])
    axes.set_ylim(len(names) - 0.1, -0.5)
    axes.set_xlim(0.8, max(len(names) + 0.2, 1 + critical + 0.6))
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("mean rank over tasks, 1 is best")
    return figure
