"""Where the difference of two arms hangs: by hyperparameter and level, and what it would be in another space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison import by_configuration, has_outcome, side_by_side
from report.document import Numbers, Picture, Section
from report.drawing.axes import plain_numbers
from report.drawing.style import panel
from report.judged_study import JudgedStudy
from report.records.estimates import Difference, Ends, JudgedOutcome
from report.sections.sensitivity.importance import importance_of, study_space
from report.sections.sensitivity.levels import Levels, levels
from report.words import OUTCOME_WORDS, SIGNIFICANT, bracketed, exact_percent, p_number, rounded, signed_to, text
from robustness.statistics.interactions import pair_interactions
from robustness.statistics.means import mean_test
from robustness.statistics.other_spaces import SHARES, reweighted, splits
from robustness.statistics.paired import paired_test
from robustness.statistics.proportions import NO_OBSERVATIONS, Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

WIDE = 0.2
"""A reach of this much, 20 points, is worth a sentence if the interaction is significant."""


class AtLevel(Difference):
    """The difference at one level of a hyperparameter."""

    value: str | int | float | bool
    configurations: int


class Interaction(TypedDict):
    """The interaction of arm and hyperparameter, and the difference at each of its levels."""

    explained: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    levels: list[AtLevel]


class PairOfHyperparameters(TypedDict):
    """Whether the effects of two hyperparameters on the difference add up."""

    hyperparameters: list[str]
    explained: float
    p_value: float
    p_adjusted: float


class OtherShare(Difference):
    """The difference in a space in which a group of levels has this share."""

    share: float


class OtherSpace(TypedDict):
    """The group of levels on whose share the difference depends most."""

    hyperparameter: str
    values: list[str | int | float | bool]
    drawn: float
    """The group's share of the drawn configurations."""
    without: float
    within: float
    curve: list[OtherShare]


class InteractionsResult(TypedDict):
    """Where the difference of two arms hangs."""

    arms: list[str]
    outcome: JudgedOutcome | None
    """None of scores."""
    why_not: str | None
    hyperparameters: dict[str, Interaction]
    pairs: list[PairOfHyperparameters]
    other_space: OtherSpace | None


def results(study: JudgedStudy) -> list[InteractionsResult] | None:
    """For every comparison, by the primary outcome or, without thresholds, by scores.

    None for a watched sweep, and without pairs, which have the differences that are explained.
    """
    frames = study.frames
    if study.sample.watch is not None or not frames.paired:
        return None
    every = {name: levels(frames.configurations[name]) for name in frames.varied}
    of = {name: each for name, each in every.items() if len(each.labels) > 1}
    return [_result(study, arms, of) for arms in frames.compared] if of else []


def _result(study: JudgedStudy, arms: tuple[str, str], of: Mapping[str, Levels]) -> InteractionsResult:
    frames, judged = study.frames, study.planned
    outcome = frames.primary if frames.has_thresholds else None
    values = judged[f"score_{frames.rule}"] if outcome is None else has_outcome(judged, outcome, frames.rule)
    pairs = side_by_side(judged, values, list(arms))
    units = by_configuration(pairs)
    differences = units[arms[0]] - units[arms[1]]
    found = importance_of(of, study_space(frames), differences)
    codes = {name: each.of.reindex(units.index).fillna(-1).to_numpy(dtype=np.int64) for name, each in of.items()}
    together = pair_interactions(differences.to_numpy(dtype=float), codes) if found.of else []
    hyperparameters: dict[str, Interaction] = {}
    for name, each in of.items():
        entry = found.of.get(name)
        hyperparameters[name] = {
            "explained": None if entry is None else entry.explained,
            "low": None if entry is None else entry.low,
            "high": None if entry is None else entry.high,
            "p_value": None if entry is None else entry.p_value,
            "p_adjusted": None if entry is None else entry.p_adjusted,
            "levels": [_at_level(pairs, outcome, label, each, place) for place, label in enumerate(each.labels)],
        }
    return {
        "arms": list(arms),
        "outcome": outcome,
        "why_not": found.why_not,
        "hyperparameters": hyperparameters,
        "pairs": [
            {
                "hyperparameters": list(each.names),
                "explained": each.explained,
                "p_value": each.p_value,
                "p_adjusted": each.p_adjusted,
            }
            for each in together
        ],
        "other_space": None if outcome is None or not len(units) else _other_space(pairs, differences, of, codes),
    }


def _at_level(pairs: pd.DataFrame, outcome: JudgedOutcome | None, label: Any, each: Levels, place: int) -> AtLevel:
    members = each.of.index[(each.of == place).fillna(False).astype(bool)]
    own = pairs[pairs.index.get_level_values("configuration").isin(members)]
    first, second = (own[arm].to_numpy(dtype=float) for arm in own.columns)
    units = by_configuration(own)
    difference: float | None = None
    interval = NO_OBSERVATIONS
    if len(own) and outcome is not None:
        tested = paired_test(first > 0, second > 0, own.index.get_level_values("configuration"))
        difference, interval = tested.difference, tested.interval
    elif len(own):
        values = (units.iloc[:, 0] - units.iloc[:, 1]).to_numpy(dtype=float)
        difference, interval = float(values.mean()), mean_test(values).interval
    return {"value": label, "configurations": len(units), "difference": difference, **_ends(interval)}


def _label(value: object) -> str | int | float | bool:
    """A level as JSON has it."""
    return value if isinstance(value, (str, int, float)) else str(value)


def _ends(interval: Interval) -> Ends:
    return {"low": interval.low, "high": interval.high, "interval": interval.method}


def _other_space(
    pairs: pd.DataFrame,
    differences: pd.Series[Any],
    of: Mapping[str, Levels],
    codes: Mapping[str, NDArray[np.int64]],
) -> OtherSpace | None:
    """The widest reach of any split of any hyperparameter that all configurations have."""
    best = None
    for name, each in of.items():
        if codes[name].min() < 0:
            continue
        ordered = all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in each.labels)
        ranged = any(" to " in str(label) for label in each.labels)
        found = splits(differences.to_numpy(dtype=float), codes[name], ordered or ranged)
        if found and (best is None or found[0].reach > best[1].reach):
            best = (name, found[0])
    if best is None:
        return None
    name, split = best
    owners = pairs.index.get_level_values("configuration")
    level = of[name].of.reindex(owners).to_numpy(dtype=np.int64)
    inside = np.isin(level, split.group)
    first, second = (pairs[arm].to_numpy(dtype=float) for arm in pairs.columns)
    curve: list[OtherShare] = [
        {"share": share, "difference": estimate.value, **_ends(estimate.interval)}
        for share, estimate in zip(SHARES, reweighted(first, second, owners, inside), strict=True)
    ]
    values = [_label(of[name].labels[place]) for place in split.group]
    return {
        "hyperparameter": name,
        "values": values,
        "drawn": float(np.isin(codes[name], split.group).mean()),
        "without": split.without,
        "within": split.within,
        "curve": curve,
    }


def sections(analysis: Analysis) -> Iterator[Section]:
    """One section for each comparison that hangs on a hyperparameter, and the first in any case."""
    for place, entry in enumerate(analysis.results["interactions"] or ()):
        hangs = [name for name, each in entry["hyperparameters"].items() if _significant(each)]
        if place and not hangs:
            continue
        yield _section(analysis, entry, hangs, place)


def _significant(entry: Interaction) -> bool:
    return entry["p_adjusted"] is not None and entry["p_adjusted"] < SIGNIFICANT


def _section(analysis: Analysis, entry: InteractionsResult, hangs: list[str], place: int) -> Section:
    first, second = (text(arm, 40) for arm in entry["arms"])
    what = "mean score" if entry["outcome"] is None else f"share that {OUTCOME_WORDS[entry['outcome']]}"
    scale, unit, write = (1.0, "", signed_to(3)) if entry["outcome"] is None else (100.0, " points", signed_to(0))
    title = f"Where {first} minus {second} hangs"
    if entry["why_not"] is not None:
        reading = f"Whether the difference depends on a hyperparameter is unknown: {entry['why_not']}."
    elif hangs:
        listed = ", ".join(
            f"{text(name, 40)} ({exact_percent(max(0.0, entry['hyperparameters'][name]['explained'] or 0.0))} of its "
            "variance)"
            for name in hangs
        )
        reading = f"The difference in the {what} depends on {listed}."
    else:
        reading = f"The difference in the {what} does not detectably depend on any hyperparameter."
    other = entry["other_space"]
    if other is not None and other["hyperparameter"] in hangs and abs(other["within"] - other["without"]) >= WIDE:
        numbers = [value for value in other["values"] if isinstance(value, (int, float)) and value is not True]
        is_end = len(numbers) == len(other["values"])
        values = f">= {min(numbers)}" if is_end else ", ".join(str(value) for value in other["values"])
        low, high = (rounded(100 * other[end]) for end in ("without", "within"))
        reading += (
            f" It is mainly the share of {text(other['hyperparameter'], 40)} {values}, which is "
            f"{exact_percent(other['drawn'])} here: from {low} to {high} points as that share goes from 0 to 1."
        )
    rows = []
    for name, each in entry["hyperparameters"].items():
        for level in each["levels"]:
            ends = [None if end is None else scale * end for end in (level["difference"], level["low"], level["high"])]
            cell = bracketed(ends[0], ends[1], ends[2], write) + unit
            test = p_number(each["p_adjusted"])
            rows.append((text(name, 40), str(level["value"]), str(level["configurations"]), cell, test))
    pictures = tuple(
        Picture(
            f"hangs-{place}-{number}",
            f"Score by {text(name, 30)}",
            f"{analysis.metric_words} of each trial of {first} and {second} against {text(name, 40)}, with a line "
            "through the medians.",
            partial(_draw, analysis, entry["arms"], name),
        )
        for number, name in enumerate(hangs[:2])
    )
    notes = (
        "The test of interaction permutes a hyperparameter's values among configurations that share the choices on "
        "which it depends, and is corrected for the number of hyperparameters (Bonferroni).",
        "The group of levels was chosen for its wide reach, so its difference is optimistic; its interaction is tested "
        "above.",
    )
    columns = ("Hyperparameter", "Value", "Configurations", f"{first} minus {second}", "p of the interaction")
    return Section(f"interactions-{place}", title, reading, pictures, Numbers(columns, tuple(rows)), notes)


def _draw(analysis: Analysis, arms: list[str], name: str) -> Figure:
    figure, axes = panel()
    values = analysis.values(name)
    numeric = pd.to_numeric(values, errors="coerce")
    is_number = bool(numeric.notna().sum() == values.notna().sum())
    kinds = sorted({str(value) for value in values.dropna()})
    for arm in arms:
        own = (analysis.trials["arm"] == arm) & analysis.trials["paired"] & values.notna()
        x = numeric[own] if is_number else values[own].map(lambda value: kinds.index(str(value)))
        y = analysis.trials.loc[own, "score"].astype(float)
        colour = analysis.arms.colour(arm)
        axes.plot(x, y, analysis.arms.marker(arm), color=colour, alpha=0.35, markersize=4)
        middle = y.groupby(x.astype(float)).median()
        axes.plot(middle.index, middle, color=colour, label=text(arm, 24))
    if is_number and numeric.min() > 0 and numeric.max() / numeric.min() >= 10:
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
    elif not is_number:
        axes.set_xticks(range(len(kinds)), [text(kind, 16) for kind in kinds])
    axes.set_xlabel(text(name, 40))
    axes.set_ylabel(analysis.metric_words)
    axes.legend()
    return figure
