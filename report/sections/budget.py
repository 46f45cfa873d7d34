"""Tuning budget: the best score to expect after n random trials, and how many a good one takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from report.drawing.style import OUTCOME_COLOURS, Numbers, Picture, Section, label_ends, panel, text
from report.material import Material

SHOWN = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


def budget_section(material: Material) -> Section | None:
    """The budget curves; None without a complete pair."""
    budget = material.analysis["budget"]
    found = budget["arms"]
    if not found:
        return None
    chance = f"{100 * budget['chance']:.0f} %"
    told = ", ".join(f"{text(arm, 60)} {_needed(entry)}" for arm, entry in found.items())
    picture = Picture(
        "budget",
        "Expected best score by number of trials",
        f"The expected best {material.metric_words} after so many random trials, a rising line for each arm with its "
        f"95 % band. Trials for a good one with {chance} chance: {told}.",
        partial(_draw, material, found),
    )
    rows = []
    for arm, entry in found.items():
        for n in SHOWN:
            if n > entry["trials"][-1]:
                break
            value, low, high = (float(np.interp(n, entry["trials"], entry[key])) for key in ("expected", "low", "high"))
            rows.append((text(arm, 60), str(n), f"{value:.4f} [{low:.4f} to {high:.4f}]"))
    reading = f"Random trials until one is good (at least {material.good:g}) with {chance} chance: {told}."
    return Section(
        "budget",
        "What tuning costs",
        reading,
        (picture,),
        Numbers(("Arm", "Trials", "Expected best score"), tuple(rows)),
        ("The curve ends at the number of trials that were run; near its end it rests on the few best of them.",),
    )


def _needed(entry: Mapping[str, Any]) -> str:
    if entry["needed"] is None:
        return "unknown, since none was good"
    if entry["needed_low"] is None:
        return str(entry["needed"])
    most = "any number" if entry["needed_high"] is None else str(entry["needed_high"])
    if str(entry["needed_low"]) == most:
        return str(entry["needed"])
    return f"{entry['needed']} [{entry['needed_low']} to {most}]"


def _draw(material: Material, found: Mapping[str, Any]) -> Figure:
    figure, axes = panel()
    ends = {}
    for arm, entry in found.items():
        colour = material.arms.colour(arm)
        x, y = np.array(entry["trials"], dtype=float), np.array(entry["expected"], dtype=float)
        axes.fill_between(x, entry["low"], entry["high"], color=colour, alpha=0.18, linewidth=0)
        mark = "o" if len(x) == 1 else None
        axes.plot(x, y, color=colour, linestyle=material.arms.dash(arm), linewidth=1.8, marker=mark)
        ends[arm] = (float(x[-1]), float(y[-1]))
    most = max(entry["trials"][-1] for entry in found.values())
    axes.set_xscale("log")
    axes.set_xlim(0.95, max(most * 1.05, 2))
    ticks = [n for n in SHOWN if n <= most]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    low, high = axes.get_ylim()
    if low < material.good < high:
        axes.axhline(material.good, color=OUTCOME_COLOURS["good"], linewidth=1.2, linestyle=(0, (4, 3)))
        axes.text(0.02, material.good, "good", transform=axes.get_yaxis_transform(), va="bottom", fontsize=9.5)
    axes.set_xlabel("random trials")
    axes.set_ylabel(f"expected best {material.metric_words}")
    label_ends(axes, ends, material.arms)
    return figure
