"""Performance profiles: the fraction of configurations above every score, so no reader has to trust a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from report.drawing.style import INK, Numbers, Picture, Section, panel, text
from report.material import Material
from report.sections.outcomes import percent

SHOWN = 11
"""Thresholds in the table."""
MOST_DIFFERENCES = 3


def profiles_section(material: Material) -> Section | None:
    """Each arm's profile and the difference of every two; None without a complete pair."""
    profiles = material.analysis["profiles"]
    found = profiles["arms"]
    if not found:
        return None
    grid = np.array(profiles["thresholds"])
    areas = ", ".join(f"{text(arm, 60)} {_area(entry)}" for arm, entry in found.items())
    pictures = [
        Picture(
            "profiles",
            "Above every threshold",
            f"The fraction of configurations whose {material.metric_words} is above each threshold, one falling line "
            f"for each arm with a 95 % band. Areas: {areas}.",
            partial(_draw, material, grid, found),
        )
    ]
    differences = [entry for entry in profiles["differences"] if entry["arms"][0] in found]
    for place, entry in enumerate(differences[:MOST_DIFFERENCES]):
        first, second = entry["arms"]
        pictures.append(
            Picture(
                f"profiles-difference-{place}",
                f"{text(second)} minus {text(first)}",
                f"The difference of the two profiles at each threshold, with a 95 % band that holds at all of them: "
                f"{_ahead(entry, grid)}.",
                partial(_draw_difference, material, grid, entry),
            )
        )
    step = max(1, (len(grid) - 1) // (SHOWN - 1))
    rows = tuple(
        (f"{grid[place]:.3f}", *(percent(entry["fraction"][place]) for entry in found.values()))
        for place in range(0, len(grid), step)
    )
    columns = ("Threshold", *(f"{text(arm, 40)}: above it" for arm in found))
    reading = f"The area under the profile, a score of robustness that needs no threshold, is {areas}"
    reading += f"; {_ahead(differences[0], grid)}." if len(differences) == 1 else "."
    notes = (
        "Bands are simultaneous: with 95 % confidence the whole line lies inside. "
        "Dashed lines are the study's own thresholds.",
    )
    return Section("profiles", "Above every threshold", reading, tuple(pictures), Numbers(columns, rows), notes)


def _area(entry: Mapping[str, Any]) -> str:
    if entry["area_low"] is None or entry["area_low"] == entry["area_high"]:
        return f"{entry['area']:.3f}"
    return f"{entry['area']:.3f} [{entry['area_low']:.3f} to {entry['area_high']:.3f}]"


def _ahead(entry: Mapping[str, Any], grid: np.ndarray) -> str:
    """Where the second arm's profile is surely above the first's, or the other way round."""
    first, second = (text(arm, 60) for arm in entry["arms"])
    told = []
    for name, sure in ((first, np.array(entry["low"]) > 0), (second, np.array(entry["high"]) < 0)):
        if sure.any():
            places = np.flatnonzero(sure)
            told.append(f"{name} is surely ahead at thresholds from {grid[places[0]]:.2f} to {grid[places[-1]]:.2f}")
    return " and ".join(told) or f"at no threshold is {first} or {second} surely ahead"


def _draw(material: Material, grid: np.ndarray, found: Mapping[str, Any]) -> Figure:
    figure, axes = panel()
    for arm, entry in found.items():
        colour = material.arms.colour(arm)
        middle = 100 * np.array(entry["fraction"])
        low, high = 100 * np.array(entry["low"]), 100 * np.array(entry["high"])
        axes.fill_between(grid, low, high, color=colour, alpha=0.16, linewidth=0, step="mid")
        line: dict[str, Any] = {"linestyle": material.arms.dash(arm), "linewidth": 1.8, "label": text(arm, 18)}
        axes.step(grid, middle, where="mid", color=colour, **line)
    _own_thresholds(material, axes)
    axes.set_xlim(grid[0], grid[-1])
    axes.set_ylim(-2, 102)
    axes.set_xlabel(f"threshold of {material.metric_words}")
    axes.set_ylabel("% of configurations above it")
    # At the right end all lines are zero, so that names at their ends would not tell them apart.
    figure.legend(loc="upper left", ncols=min(3, len(found)), fontsize=9.5, columnspacing=1.2)
    return figure


def _own_thresholds(material: Material, axes: Any) -> None:
    for level in (material.nothing, material.good):
        axes.axvline(level, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))


def _draw_difference(material: Material, grid: np.ndarray, entry: Mapping[str, Any]) -> Figure:
    figure, axes = panel()
    first, second = entry["arms"]
    middle, low, high = (-100 * np.array(entry[key]) for key in ("difference", "high", "low"))
    axes.axhline(0, color=INK, linewidth=1)
    axes.fill_between(grid, low, high, color=INK, alpha=0.14, linewidth=0, step="mid")
    axes.step(grid, middle, where="mid", color=INK, linewidth=1.6)
    reach = max(5.0, 1.08 * float(np.abs([low, high]).max()))
    axes.axhspan(0, reach, color=material.arms.colour(second), alpha=0.07, linewidth=0)
    axes.axhspan(-reach, 0, color=material.arms.colour(first), alpha=0.07, linewidth=0)
    place: dict[str, Any] = {"transform": axes.transAxes, "fontsize": 9.5, "style": "italic", "ha": "right"}
    axes.text(0.98, 0.97, f"{text(second, 18)} ahead", va="top", **place)
    axes.text(0.98, 0.03, f"{text(first, 18)} ahead", va="bottom", **place)
    _own_thresholds(material, axes)
    axes.set_xlim(grid[0], grid[-1])
    axes.set_ylim(-reach, reach)
    axes.set_xlabel(f"threshold of {material.metric_words}")
    axes.set_ylabel("difference in percentage points")
    return figure
