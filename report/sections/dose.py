"""The metric against a numeric option of a method, a line for each value of a hyperparameter."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from report.drawing.style import ARM_COLOURS, INK, MARKERS, Numbers, Picture, Section, number, panel, text
from report.material import Material
from report.words import p_words


def dose_section(material: Material) -> Section | None:
    """The metric by dose, with dotted lines for the arms without one; None where there are no doses or no results."""
    found = material.analysis.get("dose")
    if not found or not any(line["units"] for line in found["lines"]):
        return None
    option = text(found["option"].replace("_", " "), 40)
    by = None if found["by"] is None else text(found["by"].replace("_", " "), 40)
    picture = Picture(
        "dose",
        f"{material.metric_words} by {option}",
        f"The mean {material.metric_words} against {option} of {text(found['method'], 40)}"
        + ("" if by is None else f", a line for each of the {by}")
        + "; dotted lines are the arms without it.",
        partial(_draw, material, found, option, by),
    )
    rows = tuple(
        (
            "all" if entry["value"] is None else number(entry["value"]),
            f"{number(entry['dose'])} against {text(entry['against'], 40)}",
            _mean(found, entry),
            "–" if entry["difference"] is None else _signed(entry),
            "–" if entry["p_adjusted"] is None else p_words(entry["p_adjusted"]),
        )
        for entry in found["differences"]
    )
    columns = (by or "Configurations", option, f"Mean {material.metric_words}", "Difference", "By Holm")
    notes = (
        f"The unit is the {found['unit']}; bars are 95 % intervals of the mean (Student's), dotted lines the arms "
        f"without {option}. Differences are paired; p-values are a sign-flip test's, with Holm's correction over all.",
    )
    reading = found["sentences"][-1] if found["sentences"] else "There is no arm to compare with."
    return Section(
        "dose",
        f"{material.metric_words[0].upper()}{material.metric_words[1:]} by {option}",
        reading,
        (picture,),
        Numbers(columns, rows),
        notes,
    )


def _draw(material: Material, found: Mapping[str, Any], option: str, by: str | None) -> Figure:
    figure, axes = panel(width=6.4)
    handles: list[Any] = []
    doses = [entry["dose"] for entry in found["lines"][0]["doses"]]
    wide = min(doses) > 0 and max(doses) > 5 * min(doses)
    for place, line in enumerate(found["lines"]):
        if not line["units"]:
            continue
        colour, marker = ARM_COLOURS[place % len(ARM_COLOURS)], MARKERS[place % len(MARKERS)]
        # A small step aside, so that the bars of one dose do not lie on each other.
        aside = 0.03 * (place - (len(found["lines"]) - 1) / 2)
        x = [entry["dose"] * (1 + aside) if wide else entry["dose"] + aside for entry in line["doses"]]
        y = [entry["mean"] for entry in line["doses"]]
        axes.plot(x, y, color=colour, marker=marker, linewidth=1.8, markersize=6)
        for at, entry in zip(x, line["doses"], strict=True):
            if entry["low"] is not None:
                axes.plot([at, at], [entry["low"], entry["high"]], color=colour, linewidth=1.2)
        for entry in line["without"]:
            axes.axhline(entry["mean"], color=colour, linewidth=1.8, linestyle=(0, (1.2, 1.8)))
        name = material.arms.names[0] if by is None else f"{by} {number(line['value'])}"
        handles.append(Line2D([], [], color=colour, marker=marker, label=text(name, 32)))
    without = found["lines"][0]["without"]
    if without:
        names = text(", ".join(entry["arm"] for entry in without), 24)
        handles.append(Line2D([], [], color=INK, linestyle=(0, (1.2, 1.8)), label=names))
    if wide:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(doses, [number(dose) for dose in doses])
    axes.set_xlabel(f"{option} of {text(found['method'], 24)}")
    axes.set_ylabel(f"mean {material.metric_words}")
    figure.legend(handles=handles, loc="upper left", ncols=2, fontsize=9.5)
    return figure


def _mean(found: Mapping[str, Any], difference: Mapping[str, Any]) -> str:
    line = next(line for line in found["lines"] if line["value"] == difference["value"])
    entry = next(entry for entry in line["doses"] if entry["arm"] == difference["arm"])
    if entry["mean"] is None:
        return "–"
    return f"{entry['mean']:.4f}" + ("" if entry["low"] is None else f" [{entry['low']:.4f} to {entry['high']:.4f}]")


def _signed(entry: Mapping[str, Any]) -> str:
    ends = "" if entry["low"] is None else f" [{entry['low']:+.4f} to {entry['high']:+.4f}]"
    return f"{entry['difference']:+.4f}{ends}"
