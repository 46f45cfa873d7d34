"""Heat maps of counts: how many of all in a cell had an outcome, written in it and as its shade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure
from numpy.typing import NDArray

from report.drawing.style import number, panel, text

DARK = 0.75
"""From this share on a cell is dark enough for white letters."""


def heat_map(
    count: NDArray[np.float64],
    of: NDArray[np.float64],
    names: tuple[str, str],
    values: tuple[Sequence[Any], Sequence[Any]],
    colour: str,
) -> Figure:
    """Cells [values of the first, values of the second] of counts; a cell without any trial stays empty."""
    figure, axes = panel()
    used = of > 0
    share = np.where(used, count / np.maximum(of, 1), np.nan)
    labels = [
        [f"{some:.3g}/{every:.0f}" if every else "" for some, every in zip(*rows, strict=True)]
        for rows in zip(count, of, strict=True)
    ]
    across, down = (
        [number(value).replace(" to ", " to\n") for value in values[1]],
        [number(value).replace(" to ", " to\n") for value in values[0]],
    )
    sns.heatmap(
        share,
        ax=axes,
        annot=np.array(labels),
        annot_kws={"fontsize": 9.5 if of.shape[1] <= 6 else 7.5},
        fmt="",
        vmin=0,
        vmax=1,
        cmap=sns.light_palette(colour, as_cmap=True),
        linewidths=1,
        linecolor="#888888",
        cbar=False,
        xticklabels=across,
        yticklabels=down,
    )
    for label, value in zip(axes.texts, share[used], strict=True):
        label.set_color("#ffffff" if value >= DARK else "#000000")
    axes.set_ylabel(text(names[0], 40))
    axes.set_xlabel(text(names[1], 40))
    axes.tick_params(axis="both", rotation=0)
    axes.grid(visible=False)
    return figure
