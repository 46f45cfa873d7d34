"""Sensitivity: how often each value of each hyperparameter goes with the outcome that the verdict is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from report.drawing.heat_map import heat_map
from report.drawing.style import INK, OUTCOME_COLOURS, Numbers, Picture, Section, number, panel, text
from report.material import Material
from report.sections.outcomes import percent

MOST_PANELS = 8
MOST_MAPS = 4
WORDS = {"learned_nothing": "learned nothing", "good": "good"}


def sensitivity_section(material: Material) -> Section | None:
    """A panel for each hyperparameter that varies; None if none does, or nothing has been judged."""
    rates = _judged_rates(material)
    if not rates:
        return None
    words = WORDS[material.primary]
    pictures, rows = [], []
    for name, found in list(rates.items())[:MOST_PANELS]:
        pictures.append(
            Picture(
                f"sensitivity-{list(rates).index(name)}",
                text(name, 40),
                f"For each value of {text(name, 60)} and each arm the fraction of configurations that "
                f"{'were ' if material.primary == 'good' else ''}{words}, with 95 % intervals.",
                partial(_draw, material, name, found),
            )
        )
    for name, found in rates.items():
        for place, value in enumerate(found["values"]):
            shares = (_share(arm[material.primary][place]) for arm in found["arms"].values())
            rows.append((f"{text(name, 40)} = {number(value)}", *shares))
    columns = ("Value", *(f"{text(arm, 40)}: {words}" for arm in material.arms.names))
    return Section(
        "sensitivity",
        "Which values it hangs on",
        _reading(material),
        tuple(pictures),
        Numbers(columns, tuple(rows)),
        _sensible(material),
    )


def importance_section(material: Material) -> Section | None:
    """How much each hyperparameter decides, and the two that decide most against each other."""
    sensitivity = material.analysis["sensitivity"]
    shares = {arm: found["shares"] for arm, found in sensitivity["importance"].items() if found["shares"]}
    pictures = []
    if shares:
        told = "; ".join(f"{text(arm, 60)}: {_listed(own)}" for arm, own in shares.items())
        pictures.append(
            Picture(
                "importance",
                "Importance (PED-ANOVA)",
                f"Bars of each hyperparameter's share in deciding which configurations are the best: {told}.",
                partial(_draw_importance, material, shares),
            )
        )
    chosen = _most_important(material, shares)
    if chosen is not None:
        for place, arm in enumerate(material.arms.names[:MOST_MAPS]):
            if not np.any(chosen["arms"][arm]["of"]):
                continue
            down, across = (text(name, 40) for name in chosen["hyperparameters"])
            pictures.append(
                Picture(
                    f"two-way-{place}",
                    f"{text(arm)}: {WORDS[material.primary]} by {down} and {across}",
                    f"A map of {down} by {across} for {text(arm, 60)}: in each cell how many configurations, of all "
                    f"there, had the outcome “{WORDS[material.primary]}”.",
                    partial(_draw_map, chosen, arm, material.primary),
                )
            )
    if not pictures:
        return None
    rows = tuple(
        (text(name, 60), *(percent(own[name]) if name in own else "–" for own in shares.values()))
        for name in material.hyperparameters
        if any(name in own for own in shares.values())
    )
    columns = ("Hyperparameter", *(text(arm, 40) for arm in shares))
    reading = "; ".join(
        f"for {text(arm, 60)} {text(next(iter(own)), 60)} decides most ({percent(next(iter(own.values())))})"
        for arm, own in shares.items()
    )
    reading = (
        f"Of what decides which configurations are among the best, {reading}."
        if reading
        else "There are too few configurations, or too many ties, to say which hyperparameter decides most."
    )
    numbers = Numbers(columns, rows) if rows else None
    return Section("importance", "What decides", reading, tuple(pictures), numbers)


def _judged_rates(material: Material) -> dict[str, Any]:
    rates = material.analysis["sensitivity"]["hyperparameters"]
    return {
        name: found
        for name, found in rates.items()
        if any(entry["of"] for arm in found["arms"].values() for entry in arm[material.primary])
    }


def _share(entry: Mapping[str, Any]) -> str:
    if not entry["of"]:
        return "–"
    told = f"{percent(entry['fraction'])} ({entry['count']:g} of {entry['of']})"
    return told if entry["low"] is None else f"{told} [{percent(entry['low'])} to {percent(entry['high'])}]"


def _reading(material: Material) -> str:
    worst = material.analysis["sensitivity"]["worst_value"]
    told = [
        f"{text(arm, 60)} with {text(found['hyperparameter'], 60)} = {number(found['value'])} ({_share(found)})"
        for arm, found in worst.items()
        if found
    ]
    if not told:
        return "No value that enough configurations have goes with learning nothing."
    return f"The value that most often goes with learning nothing: {'; '.join(told)}."


def _sensible(material: Material) -> tuple[str, ...]:
    told = []
    for arm, found in material.analysis["sensitivity"]["sensible_range"].items():
        if found["configurations"] and found["removed"]:
            removed = ", ".join(f"{text(name, 40)} = {number(value)}" for name, value in found["removed"].items())
            told.append(
                f"Within its own sensible range (without {removed}) {text(arm, 60)} learned nothing in "
                f"{_share(found['learned_nothing'])} and was good in {_share(found['good'])}; the range is chosen by "
                "the same trials, so this flatters the arm."
            )
    return tuple(told)


def _draw(material: Material, name: str, found: Mapping[str, Any]) -> Figure:
    figure, axes = panel(height=3.3)
    values = found["values"]
    arms = [arm for arm in material.arms.names if arm in found["arms"]]
    width = min(0.16, 0.6 / len(arms))
    for place, arm in enumerate(arms):
        entries = found["arms"][arm][material.primary]
        known = [at for at, entry in enumerate(entries) if entry["of"]]
        x = [at + (place - (len(arms) - 1) / 2) * width for at in known]
        y = np.array([100 * entries[at]["fraction"] for at in known])
        ends = [
            (entries[at]["fraction"] if entries[at][end] is None else entries[at][end])
            for end in ("low", "high")
            for at in known
        ]
        low, high = 100 * np.array(ends).reshape(2, -1)
        axes.errorbar(
            x,
            y,
            [np.maximum(y - low, 0), np.maximum(high - y, 0)],
            fmt=material.arms.marker(arm),
            color=material.arms.colour(arm),
            markersize=6,
            linewidth=1.4,
            label=text(arm, 18),
        )
    labels = [number(value).replace(" to ", " to\n") for value in values]
    small = 9.5 if sum(len(label) for label in labels) < 40 else 8
    axes.set_xticks(range(len(values)), labels, fontsize=small)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_ylim(-3, 103)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(text(name, 40))
    axes.set_ylabel(f"% {WORDS[material.primary]}")
    figure.legend(loc="upper left", ncols=min(3, len(arms)), fontsize=9.5, handletextpad=0.3, columnspacing=1.2)
    return figure


def _draw_importance(material: Material, shares: Mapping[str, Mapping[str, float]]) -> Figure:
    names = [name for name in material.hyperparameters if any(name in own for own in shares.values())][:12]
    names.sort(key=lambda name: -max(own.get(name, 0.0) for own in shares.values()))
    figure, axes = panel(height=max(2.4, 1.2 + 0.4 * len(names)))
    height = 0.8 / len(shares)
    for place, (arm, own) in enumerate(shares.items()):
        y = [at + (place - (len(shares) - 1) / 2) * height for at in range(len(names))]
        values = [100 * own.get(name, 0.0) for name in names]
        colour = material.arms.colour(arm)
        axes.barh(y, values, 0.9 * height, color=colour, edgecolor=INK, linewidth=0.4, label=text(arm, 18))
    axes.set_yticks(range(len(names)), [text(name, 20) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("share of importance in %")
    axes.grid(visible=False, axis="y")
    figure.legend(loc="upper left", ncols=min(3, len(shares)), fontsize=9.5, handlelength=1, columnspacing=1.2)
    return figure


def _most_important(material: Material, shares: Mapping[str, Mapping[str, float]]) -> Mapping[str, Any] | None:
    """The table of the two hyperparameters that matter most to all arms together."""
    tables: Sequence[Mapping[str, Any]] = material.analysis["sensitivity"]["two_way"]

    def weight(table: Mapping[str, Any]) -> float:
        return sum(own.get(name, 0.0) for own in shares.values() for name in table["hyperparameters"])

    return max(tables, key=weight, default=None)


def _draw_map(table: Mapping[str, Any], arm: str, outcome: str) -> Figure:
    count, of = (np.array(table["arms"][arm][key], dtype=float) for key in (outcome, "of"))
    rows, columns = table["values"]
    down, across = table["hyperparameters"]
    return heat_map(count, of, (down, across), (rows, columns), OUTCOME_COLOURS[outcome])


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{text(name, 60)} {percent(value)}" for name, value in shares.items())
