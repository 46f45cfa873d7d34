"""Heat maps: a number written in each cell and shown as its shade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from report.drawing.style import panel
from report.words import number, text, typeset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DARK = 0.75
"""From this shade on a cell is dark enough for white letters."""


def heat_map(
    values: NDArray[np.float64],
    labels: Sequence[Sequence[str]],
    ticks: tuple[Sequence[str], Sequence[str]],
    names: tuple[str, str],
    colour: str,
    limits: tuple[float, float] = (0.0, 1.0),
    font_size: float | None = None,
) -> Figure:
    """Cells [rows, columns] with their labels, shaded between the limits; a cell that is NaN stays empty.

    `ticks` and `names` are those of the rows, then of the columns.
    """
    import seaborn as sns  # not needed before something is drawn

    figure, axes = panel()
    low, high = limits
    sns.heatmap(
        values,
        ax=axes,
        annot=np.array(labels),
        annot_kws={} if font_size is None else {"fontsize": font_size},
        fmt="",
        vmin=low,
        vmax=high,
        cmap=sns.light_palette(colour, as_cmap=True),
        linewidths=1,
        linecolor="#888888",
        cbar=False,
        xticklabels=ticks[1],
        yticklabels=ticks[0],
    )
    for label, value in zip(axes.texts, values[np.isfinite(values)], strict=True):
        label.set_color("#ffffff" if (value - low) / (high - low) >= DARK else "#000000")
    axes.set_ylabel(names[0])
    axes.set_xlabel(names[1])
    axes.tick_params(axis="both", rotation=0)
    axes.grid(visible=False)
    return figure


def count_map(
    count: NDArray[np.float64],
    of: NDArray[np.float64],
    names: tuple[str, str],
    values: tuple[Sequence[Any], Sequence[Any]],
    colour: str,
) -> Figure:
    """A heat map of the share `count / of` by two hyperparameters, `3/7` in each cell; one without trials is empty."""
    labels = [
        [f"{some:.0f}/{every:.0f}" if every else "" for some, every in zip(*rows, strict=True)]
        for rows in zip(count, of, strict=True)
    ]
    down, across = ([typeset(number(value)).replace(" to ", " to\n") for value in side] for side in values)
    shares = np.where(of > 0, count / np.maximum(of, 1), np.nan)
    size = 9.5 if of.shape[1] <= 6 else 7.5
    return heat_map(shares, labels, (down, across), (text(names[0], 40), text(names[1], 40)), colour, font_size=size)
