"""What the page shows of interactions: a section for each comparison, scores by hyperparameter, other spaces."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from report.document import Numbers, Picture, Section
from report.drawing.axes import plain_numbers
from report.drawing.style import INK, panel
from report.sections.interactions.entries import Interaction, InteractionsResult, OtherSpace
from report.words import OUTCOME_WORDS, SIGNIFICANT, bracketed, exact_percent, p_number, rounded, signed_to, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

WIDE = 0.2
"""A reach of this much, 20 points, is worth a sentence if the interaction is significant."""
MOST_VALUES = 12
MOST_POINTS = 1000
"""Of each arm; more cannot be distinguished by eye."""
"""With more different values, the line goes through the medians of groups of configurations."""


def sections(analysis: Analysis) -> Iterator[Section]:
    """One section for each comparison that depends on a hyperparameter, and the first in any case."""
    for place, entry in enumerate(analysis.results["interactions"]):
        deciding = [name for name, each in entry["hyperparameters"].items() if _significant(each)]
        if place and not deciding:
            continue
        yield _section(analysis, entry, deciding, place)


def _significant(entry: Interaction) -> bool:
    return entry["p_adjusted"] is not None and entry["p_adjusted"] < SIGNIFICANT


def _section(analysis: Analysis, entry: InteractionsResult, deciding: list[str], place: int) -> Section:
    first, second = (text(arm, 40) for arm in entry["arms"])
    scale, unit, write = (1.0, "", signed_to(3)) if entry["outcome"] is None else (100.0, " points", signed_to(0))
    rows = []
    for name, each in entry["hyperparameters"].items():
        for level in each["levels"]:
            ends = [None if end is None else scale * end for end in (level["difference"], level["low"], level["high"])]
            cell = bracketed(ends[0], ends[1], ends[2], write) + unit
            test = p_number(each["p_adjusted"])
            rows.append((text(name, 40), str(level["value"]), str(level["configurations"]), cell, test))
    strongest = sorted(deciding, key=lambda name: -(entry["hyperparameters"][name]["explained"] or 0.0))
    # Without a pair there is nothing to draw.
    drawn = (strongest[:2] or list(entry["hyperparameters"])[:1]) if len(analysis.pairs) else []
    pictures = [
        Picture(
            f"hangs-{place}-{number}",
            f"Score by {text(name, 30)}",
            f"{analysis.metric_words} of each trial of {first} and {second} against {text(name, 40)}, with a line "
            "through the medians.",
            partial(draw_scores, analysis, entry["arms"], name),
        )
        for number, name in enumerate(drawn)
    ]
    other = entry["other_space"]
    if other is not None and other["hyperparameter"] in deciding:
        pictures.append(
            Picture(
                f"space-{place}",
                "The difference in another space",
                f"{first} minus {second}, in points, against the share of configurations with {_group(other)}, with "
                "its 95 % interval.",
                partial(_draw_space, entry["arms"], other),
            )
        )
    columns = ("Hyperparameter", "Value", "Configurations", f"{first} minus {second}", "p of the interaction")
    return Section(
        f"interactions-{place}",
        f"Where {first} and {second} differ",
        _reading(entry, deciding),
        tuple(pictures),
        Numbers(columns, tuple(rows)),
        tuple(_notes(analysis, entry)),
    )


def _reading(entry: InteractionsResult, deciding: list[str]) -> str:
    what = "mean score" if entry["outcome"] is None else f"share that {OUTCOME_WORDS[entry['outcome']]}"
    if entry["why_not"] is not None:
        return f"Whether the difference depends on a hyperparameter is unknown: {entry['why_not']}."
    if not deciding:
        return f"The difference in the {what} does not detectably depend on any hyperparameter."
    listed = ", ".join(
        f"{text(name, 40)} ({exact_percent(max(0.0, entry['hyperparameters'][name]['explained'] or 0.0))} of its "
        "variance)"
        for name in deciding
    )
    reading = f"The difference in the {what} depends on {listed}."
    other = entry["other_space"]
    if other is not None and other["hyperparameter"] in deciding and abs(other["within"] - other["without"]) >= WIDE:
        whole, low, high = (
            rounded(100 * value)
            for value in (
                other["drawn"] * other["within"] + (1 - other["drawn"]) * other["without"],
                other["without"],
                other["within"],
            )
        )
        reading += (
            f" The {whole} points depend mainly on the share of configurations with {_group(other)}, "
            f"{exact_percent(other['drawn'])} here: {low} points without them, {high} with them alone."
        )
    return reading


def _group(other: OtherSpace) -> str:
    """The group of levels: `initial_rho >= -2`, or `optimizer sgd`."""
    numbers = [value for value in other["values"] if isinstance(value, (int, float)) and not isinstance(value, bool)]
    is_end = len(numbers) == len(other["values"])
    values = f">= {min(numbers)}" if is_end else text(", ".join(str(value) for value in other["values"]), 80)
    return f"{text(other['hyperparameter'], 40)} {values}"


def _notes(analysis: Analysis, entry: InteractionsResult) -> Iterator[str]:
    if analysis.pairs.groupby("arm").size().max() > MOST_POINTS:
        yield f"An even sample of {MOST_POINTS:,} trials of each arm is drawn; lines go through the medians of all."
    if entry["why_not"] is None:
        yield (
            "The test of interaction permutes a hyperparameter's values among configurations that share the choices on "
            "which it depends, and is corrected for the number of hyperparameters (Bonferroni)."
        )
    pairs = entry["pairs"]
    if pairs:
        shown = [each for each in pairs if each["p_adjusted"] < SIGNIFICANT] or pairs[:1]
        listed = "; ".join(
            f"{text(' and '.join(each['hyperparameters']), 80)} explain {exact_percent(each['explained'])} of its "
            f"variance beyond the sum of their effects (p = {p_number(each['p_adjusted'])} by Holm)"
            for each in shown[:3]
        )
        yield (
            f"Two hyperparameters together, {len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'} tested: {listed}"
            + ("." if shown[0]["p_adjusted"] < SIGNIFICANT else ", the most of all: not statistically significant.")
        )
    if entry["other_space"] is not None:
        yield (
            "The group of levels was chosen for its wide reach, so its difference is optimistic; its interaction is "
            "tested above."
        )
    if analysis.study.sample.watch is not None:
        yield (
            "Intervals at each level are confidence sequences, valid however often the evidence was looked at; in "
            "another space, those of both sides joined."
        )


def draw_scores(analysis: Analysis, arms: list[str], name: str) -> Figure:
    """The score of every trial against a hyperparameter, with a line through the medians of each arm."""
    figure, axes = panel()
    values = analysis.values(name)
    numeric = pd.to_numeric(values, errors="coerce")
    is_number = bool(numeric.notna().sum() == values.notna().sum())
    kinds = sorted({str(value) for value in values.dropna()})
    logarithmic = is_number and numeric.min() > 0 and numeric.max() / numeric.min() >= 10
    places = numeric if is_number else values.map(lambda value: kinds.index(str(value)), na_action="ignore")
    discrete = values.nunique() <= MOST_VALUES
    known = places.dropna().to_numpy(dtype=float)
    ends = np.unique(np.log(known) if logarithmic else known)
    # Points of several arms at one value stand side by side.
    step = 0.14 * float(np.diff(ends).min()) if discrete and len(ends) > 1 else 0.0
    for number, arm in enumerate(arms):
        own = (analysis.trials["arm"] == arm) & analysis.trials["paired"] & values.notna()
        x = places[own].astype(float)
        y = analysis.trials.loc[own, "score"].astype(float)
        aside = step * (number - (len(arms) - 1) / 2)
        shown = x * np.exp(aside) if logarithmic else x + aside
        colour = analysis.arms.colour(arm)
        few = np.linspace(0, len(shown) - 1, min(len(shown), MOST_POINTS)).round().astype(int)
        axes.plot(
            shown.iloc[few],
            y.iloc[few],
            analysis.arms.marker(arm),
            color=colour,
            alpha=0.35,
            markersize=4,
            linestyle="none",
        )
        middle = _medians(shown, y, discrete)
        line = {"color": colour, "linestyle": analysis.arms.dash(arm), "marker": analysis.arms.marker(arm)}
        axes.plot(middle.index, middle, label=text(arm, 24), linewidth=1.8, markersize=6, **line)
    if logarithmic:
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
    elif not is_number:
        axes.set_xticks(range(len(kinds)), [text(kind, 16) for kind in kinds])
    if is_number and discrete:
        ticks = sorted(numeric.dropna().unique().tolist())
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
    axes.set_xlabel(text(name, 40))
    axes.set_ylabel(analysis.metric_words)
    axes.legend()
    return figure


def _medians(x: pd.Series[Any], y: pd.Series[Any], discrete: bool) -> pd.Series[Any]:
    """The median of y at each x or, where x has many values, in eight groups of equal size at their median x."""
    # The hyperparameter may be from the space of another arm, of which this one has no value.
    if discrete or x.empty:
        return y.groupby(x).median()
    groups = pd.qcut(x.rank(method="first"), min(8, len(x)), labels=False)
    return pd.Series(y.groupby(groups).median().to_numpy(), index=x.groupby(groups).median().to_numpy())


def _draw_space(arms: list[str], other: OtherSpace) -> Figure:
    figure, axes = panel()
    shares = [100 * each["share"] for each in other["curve"]]
    (line,) = axes.plot(shares, [100 * (each["difference"] or 0.0) for each in other["curve"]], linewidth=1.8)
    known = [each for each in other["curve"] if each["low"] is not None and each["high"] is not None]
    low, high = ([100 * float(each[end] or 0.0) for each in known] for end in ("low", "high"))
    axes.fill_between([100 * e["share"] for e in known], low, high, color=line.get_color(), alpha=0.18, linewidth=0)
    axes.axvline(100 * other["drawn"], color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.text(100 * other["drawn"], 1.0, " drawn", transform=axes.get_xaxis_transform(), va="top", fontsize=9.5)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"% of configurations with {_group(other)}")
    axes.set_ylabel(f"{text(arms[0], 18)} minus {text(arms[1], 18)}, points")
    return figure
