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
from report.sections.sensitivity.entries import DecidingValue, HyperparameterRates
from report.sections.sensitivity.importance import importance_sections, permuted
from report.words import (
    DASH,
    OUTCOME_WORDS,
    exact_percent,
    listed,
    number,
    p_words,
    share_cell,
    short_units,
    text,
    typeset,
)

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
        (*_notes(analysis), *drawn_of(MOST_PANELS, len(rates), "hyperparameters")),
    )


def _judged_rates(analysis: Analysis) -> dict[str, HyperparameterRates]:
    rates = analysis.results["sensitivity"]["hyperparameters"]
    return {
        name: levels
        for name, levels in rates.items()
        if any(entry["of"] for arm in levels["arms"].values() for entry in arm[analysis.primary])
    }


def _reading(analysis: Analysis) -> str:
    """The values that are shown to matter to each arm, and the arms to which none is."""
    found = analysis.results["sensitivity"]["deciding_values"]
    did = "were good" if analysis.primary == "good" else OUTCOME_WORDS[analysis.primary]
    named = [f"{text(arm, 60)} {_values(entry['values'])}" for arm, entry in found.items() if entry["values"]]
    none = [_of_all(analysis, arm, did) for arm, entry in found.items() if not (entry["values"] or entry["why_not"])]
    unknown = {entry["why_not"]: arm for arm, entry in found.items() if entry["why_not"]}
    sentences = []
    if named:
        sentences.append(
            f"Values with which significantly more or fewer configurations {did} than with the arm's other values: "
            f"{'; '.join(named)}."
        )
    if none:
        sentences.append(f"No value is shown to matter for {listed(none)}.")
    sentences += [f"Whether a value matters is not tested: {reason}." for reason in unknown]
    return " ".join(sentences)


def _values(values: list[DecidingValue]) -> str:
    """`more with initial_rho = 0 (100.0 % (25 of 25), elsewhere 24.6 %), fewer with initial_rho = -6 (...)`."""
    more = [each for each in values if known(each["fraction"]) > each["elsewhere"]]
    fewer = [each for each in values if each not in more]
    return ", ".join(
        f"{word} with {listed([_value(each) for each in group])}"
        for word, group in (("more", more), ("fewer", fewer))
        if group
    )


def _value(entry: DecidingValue) -> str:
    share = f"{exact_percent(known(entry['fraction']))} ({short_units(entry)})"
    where = f"{text(entry['hyperparameter'], 60)} = {number(entry['value'])}"
    return f"{where} ({share}, elsewhere {exact_percent(entry['elsewhere'])}, {p_words(entry['p_adjusted'])})"


def _of_all(analysis: Analysis, arm: str, did: str) -> str:
    """`radial (1 of 86 learned nothing)`."""
    return f"{text(arm, 60)} ({short_units(analysis.results['arms'][arm][analysis.primary])} {did})"


def _notes(analysis: Analysis) -> Iterator[str]:
    """How values were tested, and each arm's fractions without those that are worse."""
    found = analysis.results["sensitivity"]
    tested = max((entry["tested"] for entry in found["deciding_values"].values()), default=0)
    if tested:
        yield (
            f"Each value is tested against the arm's other values of that hyperparameter, {permuted(analysis)}, with "
            f"Holm's correction over all values of an arm ({tested})."
        )
    for arm, entry in found["sensible_range"].items():
        if entry is not None:
            removed = listed([_removed(name, values) for name, values in entry["removed"].items()])
            yield (
                f"Without {removed}, {text(arm, 60)} learned nothing in {share_cell(entry['learned_nothing'])} and was "
                f"good in {share_cell(entry['good'])}; the values are chosen from the same trials, so this is "
                "optimistically biased."
            )


def _removed(name: str, values: list[object]) -> str:
    return f"{text(name, 40)} = {listed([number(value) for value in values])}"


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
    labels = [typeset(number(value)).replace(" to ", " to\n") for value in values]
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
