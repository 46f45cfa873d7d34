"""Mean ranks of arms on a line, with bars under those that are not told apart (Demsar 2006)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from report.drawing.style import INK, Arms, panel
from report.words import text
from robustness.statistics.ranks import cliques

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_ranks(means: Mapping[str, float], critical: float, arms: Arms) -> Figure:
    """The critical difference on top, a row for each arm at its mean rank, best first, and a row for each bar.

    A bar joins arms closer than the critical difference; in a row of its own it is not taken for an interval.
    """
    names = sorted(means, key=lambda arm: means[arm])
    values = [means[arm] for arm in names]
    groups = [sorted(group) for group in cliques(values, critical)]
    rows = {f"critical difference {critical:.2f}": -1} | {text(arm, 40): row for row, arm in enumerate(names)}
    figure, axes = panel(height=max(2.4, 1.4 + 0.36 * (len(names) + 1 + len(groups))))
    axes.plot([1, 1 + critical], [-1, -1], "|-", color=INK, linewidth=1.2, markersize=9)
    for row, arm in enumerate(names):
        axes.plot(means[arm], row, arms.marker(arm), color=arms.colour(arm), markersize=8, markeredgecolor=INK)
    for below, group in enumerate(groups, start=len(names)):
        ends = values[group[0]], values[group[-1]]
        axes.plot(ends, [below, below], color=INK, linewidth=4, alpha=0.5, solid_capstyle="butt")
        for row in group:
            axes.plot([values[row]] * 2, [row, below], color=INK, linewidth=0.8, alpha=0.5, linestyle=(0, (1, 2)))
    labels = [*rows, *("not told apart" for _ in groups)]
    axes.set_yticks([*rows.values(), *range(len(names), len(names) + len(groups))], labels)
    axes.set_ylim(len(names) + len(groups) - 0.5, -1.6)
    axes.set_xlim(0.8, max(len(names), 1 + critical) + 0.2)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("mean rank over tasks, 1 is best")
    return figure
