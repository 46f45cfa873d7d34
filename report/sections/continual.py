"""Continual learning: the last network on every task (the paper's figure), every task after each one, and the grid."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from report.drawing.style import Numbers, Picture, Section, label_ends, number, panel, text
from report.material import Material
from report.sections.continual_results import TOLD, cell_words, percent

WORDS = {
    "validation_accuracy": "Validation accuracy",
    "test_accuracy": "Test accuracy",
    "forgetting": "Forgetting",
    "first_task": "First task",
}


def continual_section(material: Material) -> Section | None:
    """Each arm at its best cell: the paper's figure, and a triangle of accuracies for each arm."""
    arms = _arms(material)
    if not arms:
        return None
    tasks = int(material.analysis["continual"]["tasks"])
    told = "; ".join(
        f"{text(arm, 60)} " + ", ".join(f"{100 * value:.1f} %" for value in found["after"][-1])
        for arm, found in arms.items()
    )
    pictures = [
        Picture(
            "continual-last",
            "The last network on every task",
            f"Test accuracy on tasks 1 to {tasks} after the last of them, a line for each arm: {told}.",
            partial(_draw_last, material, arms),
        )
    ]
    for place, (arm, found) in enumerate(arms.items()):
        kept = ", ".join(f"{100 * row[0]:.1f} %" for row in found["after"])
        pictures.append(
            Picture(
                f"continual-after-{place}",
                f"{text(arm)}: every task after each one",
                f"Test accuracy of {text(arm, 60)} on each task after each task; on the first one: {kept}.",
                partial(_draw_after, material.arms.colour(arm), found["after"]),
            )
        )
    rows = [
        (text(arm, 60), cell_words(found["hyperparameters"]) or "–", str(found["trials"]), *map(percent, _told(found)))
        for arm, found in arms.items()
    ]
    first = ", ".join(f"{text(arm, 60)} {percent(found['first_task'])}" for arm, found in arms.items())
    reading = f"After the last task the first one is right so often: {first}. Dotted lines are means over the tasks."
    columns = ("Arm", "Best cell", "Runs", *(WORDS[name] for name in TOLD))
    notes = (
        "The best cell has the highest validation accuracy, mean over all tasks after the last one.",
        "Forgetting is the mean loss of test accuracy since the best that a task had before the last one was learned.",
    )
    return Section("continual", "Task by task", reading, tuple(pictures), Numbers(columns, tuple(rows)), notes)


def continual_grid_section(material: Material) -> Section | None:
    """Every cell of the grid, as a table."""
    arms = _arms(material)
    if not any(len(found["cells"]) > 1 for found in arms.values()):
        return None
    rows = [
        (
            text(arm, 60),
            cell_words(cell["hyperparameters"]),
            *(f"{100 * cell[name]:.1f}\u00a0%" for name in TOLD),
            "chosen" if cell["configuration"] == found["configuration"] else "",
        )
        for arm, found in arms.items()
        for cell in found["cells"]
    ]
    spread = "; ".join(f"{text(arm, 60)} {_range(found)}" for arm, found in arms.items())
    reading = f"Over the cells of the grid the mean test accuracy runs from the lowest to the highest: {spread}."
    columns = ("Arm", "Cell", *(WORDS[name] for name in TOLD), "")
    return Section("continual-grid", "The grid", reading, (), Numbers(columns, tuple(rows)))


def _arms(material: Material) -> dict[str, Mapping[str, Any]]:
    """The arms that have something to show."""
    found = material.analysis.get("continual") or {"arms": {}}
    return {arm: entry for arm, entry in found["arms"].items() if entry is not None}


def _told(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [found[name] for name in TOLD]


def _range(found: Mapping[str, Any]) -> str:
    values = [100 * cell["test_accuracy"] for cell in found["cells"]]
    return f"{min(values):.1f} to {max(values):.1f} %"


def _draw_last(material: Material, arms: Mapping[str, Mapping[str, Any]]) -> Figure:
    figure, axes = panel()
    ends = {}
    for arm, found in arms.items():
        values = 100 * np.array(found["after"][-1], dtype=float)
        places = np.arange(1, len(values) + 1)
        colour, style = material.arms.colour(arm), material.arms.dash(arm)
        axes.plot(places, values, color=colour, linestyle=style, marker=material.arms.marker(arm), linewidth=1.6)
        axes.axhline(values.mean(), color=colour, linestyle=(0, (1.5, 2.5)), linewidth=1.2)
        ends[arm] = (float(places[-1]), float(values[-1]))
    axes.set_xticks(places, [str(place) for place in places])
    axes.set_xlim(0.8, len(places) + 0.15)
    axes.set_xlabel("task")
    axes.set_ylabel("test accuracy after the last task, %")
    label_ends(axes, ends, material.arms)
    return figure


def _draw_after(colour: str, after: list[list[float | None]]) -> Figure:
    """A triangle: tasks downwards, time to the right."""
    figure, axes = panel()
    values = np.array(after, dtype=float).T
    shown = values[np.isfinite(values)]
    low, high = min(0.5, float(shown.min())), 1.0
    names = [number(place) for place in range(1, len(values) + 1)]
    sns.heatmap(
        values,
        ax=axes,
        mask=~np.isfinite(values),
        annot=np.array([["" if np.isnan(value) else f"{100 * value:.1f}" for value in row] for row in values]),
        fmt="",
        vmin=low,
        vmax=high,
        cmap=sns.light_palette(colour, as_cmap=True),
        linewidths=1,
        linecolor="#888888",
        cbar=False,
        xticklabels=names,
        yticklabels=names,
    )
    for label, value in zip(axes.texts, shown, strict=True):
        label.set_color("#ffffff" if (value - low) / (high - low) >= 0.75 else "#000000")
    axes.set_xlabel("after task")
    axes.set_ylabel("test accuracy on task, %")
    axes.tick_params(axis="both", rotation=0)
    axes.grid(visible=False)
    return figure
