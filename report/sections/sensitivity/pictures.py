"""How often each value of each hyperparameter goes with the primary outcome."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from report.document import Numbers, Picture, Section, drawn_of
from report.drawing.axes import legend_above
from report.drawing.style import panel
from report.records.estimates import Fraction, known
from report.sections.sensitivity.entries import HyperparameterRates
from report.sections.sensitivity.importance import importance_sections
from report.words import DASH, OUTCOME_WORDS, number, share_cell, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST_PANELS = 8


def sections(analysis: Analysis) -> Iterator[Section]:
    """The rates of each value, and the importance of each hyperparameter."""
    yield from _rates(analysis)
    yield from importance_sections(analysis)


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
            shares = (
                share_cell(levels["arms"][arm][analysis.primary][place]) if arm in levels["arms"] else DASH
                for arm in analysis.arms.names
            )
            rows.append((f"{text(name, 40)} = {number(value)}", *shares))
    columns = ("Value", *(f"{text(arm, 40)}: {words}" for arm in analysis.arms.names))
    yield Section(
        "sensitivity",
        "Which values matter",
        _reading(analysis),
        tuple(pictures),
        Numbers(columns, tuple(rows)),
        (*_sensible(analysis), *drawn_of(MOST_PANELS, len(rates), "hyperparameters")),
    )


def _judged_rates(analysis: Analysis) -> dict[str, HyperparameterRates]:
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
                "chosen by the same trials, so this is optimistically biased."
            )
    return tuple(notes)


def _draw(analysis: Analysis, name: str, levels: HyperparameterRates) -> Figure:
    figure, axes = panel(height=3.3)
    values = levels["values"]
    arms = [arm for arm in analysis.arms.names if arm in levels["arms"]]
    width = min(0.16, 0.6 / len(arms))
    for place, arm in enumerate(arms):
        entries = levels["arms"][arm][analysis.primary]
        judged = [at for at, entry in enumerate(entries) if entry["of"]]
        x = [at + (place - (len(arms) - 1) / 2) * width for at in judged]
        y = np.array([100 * known(entries[at]["fraction"]) for at in judged])
        low, high = 100 * np.array([_ends(entries[at]) for at in judged]).reshape(-1, 2).T
        axes.errorbar(
            x,
            y,
            [np.maximum(y - low, 0), np.maximum(high - y, 0)],
            fmt=analysis.arms.marker(arm),
            color=analysis.arms.colour(arm),
            markersize=6,
            linewidth=1.4,
            label=text(arm, 40),
        )
    labels = [number(value).replace(" to ", " to\n") for value in values]
    small = 9.5 if sum(len(label) for label in labels) < 40 else 8
    axes.set_xticks(range(len(values)), labels, fontsize=small)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_ylim(-3, 103)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(text(name, 40))
    axes.set_ylabel(f"% {OUTCOME_WORDS[analysis.primary]}")
    legend_above(figure, handletextpad=0.3)
    return figure


def _ends(entry: Fraction) -> tuple[float, float]:
    """The ends of the interval; the fraction itself where there is none."""
    fraction = known(entry["fraction"])
    return (
        fraction if entry["low"] is None else entry["low"],
        fraction if entry["high"] is None else entry["high"],
    )
