"""How often each value of each hyperparameter goes with the primary outcome, and which hyperparameter decides most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from report.document import Numbers, Picture, Section
from report.drawing.heat_map import count_map
from report.drawing.style import INK, OUTCOME_COLOURS, panel
from report.words import DASH, OUTCOME_WORDS, exact_percent, number, share_cell, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST_PANELS = 8
MOST_MAPS = 4


def sections(analysis: Analysis) -> Iterator[Section]:
    """The rates of each value, and the importance of each hyperparameter."""
    yield from _rates(analysis)
    yield from _importance(analysis)


def _rates(analysis: Analysis) -> Iterator[Section]:
    """A panel for each hyperparameter that varies; none if none does, or nothing has been judged."""
    rates = _judged_rates(analysis)
    if not rates:
        return
    words = OUTCOME_WORDS[analysis.primary]
    pictures, rows = [], []
    for place, (name, levels) in enumerate(list(rates.items())[:MOST_PANELS]):
        pictures.append(
            Picture(
                f"sensitivity-{place}",
                text(name, 40),
                f"For each value of {text(name, 60)} and each arm the fraction of configurations that "
                f"{'were ' if analysis.primary == 'good' else ''}{words}, with 95 % intervals.",
                partial(_draw, analysis, name, levels),
            )
        )
    for name, levels in rates.items():
        for place, value in enumerate(levels["values"]):
            shares = (share_cell(arm[analysis.primary][place]) for arm in levels["arms"].values())
            rows.append((f"{text(name, 40)} = {number(value)}", *shares))
    columns = ("Value", *(f"{text(arm, 40)}: {words}" for arm in analysis.arms.names))
    yield Section(
        "sensitivity",
        "Which values it hangs on",
        _reading(analysis),
        tuple(pictures),
        Numbers(columns, tuple(rows)),
        _sensible(analysis),
    )


def _importance(analysis: Analysis) -> Iterator[Section]:
    """The importance of each hyperparameter, and a map of the two most important ones."""
    sensitivity = analysis.results["sensitivity"]
    shares = {arm: entry["shares"] for arm, entry in sensitivity["importance"].items() if entry["shares"]}
    pictures = []
    if shares:
        listed = "; ".join(f"{text(arm, 60)}: {_listed(own)}" for arm, own in shares.items())
        pictures.append(
            Picture(
                "importance",
                "Importance (PED-ANOVA)",
                f"Bars of each hyperparameter's share in deciding which configurations are the best: {listed}.",
                partial(_draw_importance, analysis, shares),
            )
        )
    chosen = _most_important(analysis, shares)
    if chosen is not None:
        for place, arm in enumerate(analysis.arms.names[:MOST_MAPS]):
            if not np.any(chosen["arms"][arm]["of"]):
                continue
            down, across = (text(name, 40) for name in chosen["hyperparameters"])
            pictures.append(
                Picture(
                    f"two-way-{place}",
                    f"{text(arm)}: {OUTCOME_WORDS[analysis.primary]} by {down} and {across}",
                    f"A map of {down} by {across} for {text(arm, 60)}: in each cell how many configurations, of all "
                    f"there, had the outcome “{OUTCOME_WORDS[analysis.primary]}”.",
                    partial(_draw_map, chosen, arm, analysis.primary),
                )
            )
    if not pictures:
        return
    rows = tuple(
        (text(name, 60), *(exact_percent(own[name]) if name in own else DASH for own in shares.values()))
        for name in analysis.hyperparameters
        if any(name in own for own in shares.values())
    )
    columns = ("Hyperparameter", *(text(arm, 40) for arm in shares))
    reading = "; ".join(
        f"for {text(arm, 60)} {text(next(iter(own)), 60)} decides most ({exact_percent(next(iter(own.values())))})"
        for arm, own in shares.items()
    )
    reading = (
        f"Of what decides which configurations are among the best, {reading}."
        if reading
        else "There are too few configurations, or too many ties, to say which hyperparameter decides most."
    )
    numbers = Numbers(columns, rows) if rows else None
    yield Section("importance", "What decides", reading, tuple(pictures), numbers)


def _judged_rates(analysis: Analysis) -> dict[str, Any]:
    rates = analysis.results["sensitivity"]["hyperparameters"]
    return {
        name: levels
        for name, levels in rates.items()
        if any(entry["of"] for arm in levels["arms"].values() for entry in arm[analysis.primary])
    }


def _reading(analysis: Analysis) -> str:
    worst = analysis.results["sensitivity"]["worst_value"]
    values = [
        f"{text(arm, 60)} with {text(entry['hyperparameter'], 60)} = {number(entry['value'])} ({share_cell(entry)})"
        for arm, entry in worst.items()
        if entry
    ]
    if not values:
        return "No value that enough configurations have goes with learning nothing."
    return f"The value that most often goes with learning nothing: {'; '.join(values)}."


def _sensible(analysis: Analysis) -> tuple[str, ...]:
    notes = []
    for arm, entry in analysis.results["sensitivity"]["sensible_range"].items():
        if entry["configurations"] and entry["removed"]:
            removed = ", ".join(f"{text(name, 40)} = {number(value)}" for name, value in entry["removed"].items())
            notes.append(
                f"Within its own sensible range (without {removed}) {text(arm, 60)} learned nothing in "
                f"{share_cell(entry['learned_nothing'])} and was good in {share_cell(entry['good'])}; the range is "
                "chosen by the same trials, so this flatters the arm."
            )
    return tuple(notes)


def _draw(analysis: Analysis, name: str, levels: Mapping[str, Any]) -> Figure:
    figure, axes = panel(height=3.3)
    values = levels["values"]
    arms = [arm for arm in analysis.arms.names if arm in levels["arms"]]
    width = min(0.16, 0.6 / len(arms))
    for place, arm in enumerate(arms):
        entries = levels["arms"][arm][analysis.primary]
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
            fmt=analysis.arms.marker(arm),
            color=analysis.arms.colour(arm),
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
    axes.set_ylabel(f"% {OUTCOME_WORDS[analysis.primary]}")
    figure.legend(loc="upper left", ncols=min(3, len(arms)), fontsize=9.5, handletextpad=0.3, columnspacing=1.2)
    return figure


def _draw_importance(analysis: Analysis, shares: Mapping[str, Mapping[str, float]]) -> Figure:
    names = [name for name in analysis.hyperparameters if any(name in own for own in shares.values())][:12]
    names.sort(key=lambda name: -max(own.get(name, 0.0) for own in shares.values()))
    figure, axes = panel(height=max(2.4, 1.2 + 0.4 * len(names)))
    height = 0.8 / len(shares)
    for place, (arm, own) in enumerate(shares.items()):
        y = [at + (place - (len(shares) - 1) / 2) * height for at in range(len(names))]
        values = [100 * own.get(name, 0.0) for name in names]
        colour = analysis.arms.colour(arm)
        axes.barh(y, values, 0.9 * height, color=colour, edgecolor=INK, linewidth=0.4, label=text(arm, 18))
    axes.set_yticks(range(len(names)), [text(name, 20) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("share of importance in %")
    axes.grid(visible=False, axis="y")
    figure.legend(loc="upper left", ncols=min(3, len(shares)), fontsize=9.5, handlelength=1, columnspacing=1.2)
    return figure


def _most_important(analysis: Analysis, shares: Mapping[str, Mapping[str, float]]) -> Mapping[str, Any] | None:
    """The table of the two hyperparameters that matter most to all arms together."""
    tables: Sequence[Mapping[str, Any]] = analysis.results["sensitivity"]["two_way"]

    def weight(table: Mapping[str, Any]) -> float:
        return sum(own.get(name, 0.0) for own in shares.values() for name in table["hyperparameters"])

    return max(tables, key=weight, default=None)


def _draw_map(table: Mapping[str, Any], arm: str, outcome: str) -> Figure:
    count, of = (np.array(table["arms"][arm][key], dtype=float) for key in (outcome, "of"))
    rows, columns = table["values"]
    down, across = table["hyperparameters"]
    return count_map(count, of, (down, across), (rows, columns), OUTCOME_COLOURS[outcome])


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{text(name, 60)} {exact_percent(value)}" for name, value in shares.items())
