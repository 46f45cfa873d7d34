"""The Explore section as it stands before any script runs: fractions, sliders at the study's own thresholds, words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

from report.judging import distinct_thresholds, own_scores, worst_scores
from report.records.estimates import Fraction, JudgedOutcome
from report.words import number, share_cell, text
from robustness.errors import plural
from robustness.trial import NO_RESULT

if TYPE_CHECKING:
    from report.analysis import Analysis

WATCHED = (
    "This sweep was watched while it ran, so intervals and p-values for a fixed number of configurations do not apply "
    "and none is shown here; the verdict has those that do."
)


class Bar(TypedDict):
    """A fraction: its text, and the width of its bar in per cent."""

    text: str
    width: str


class ArmRow(TypedDict):
    """An arm in the table of fractions."""

    arm: str
    place: int
    learned_nothing: Bar
    good: Bar


class ThresholdSlider(TypedDict):
    """The slider of one threshold."""

    outcome: str
    label: str
    value: str
    shown: str


class ExploreSection(TypedDict):
    """The values of `templates/explore.html`."""

    counted: str
    """How many trials count, which follows the restriction."""
    reading: str
    epoch: str
    intervals: bool
    low: str
    high: str
    controls: list[ThresholdSlider]
    cells: str
    """Between which thresholds those of the trials lie, which move with the slider; empty if all have the same."""
    rows: list[ArmRow]
    compared: bool
    heads: list[str]
    note: str


def explore_section(analysis: Analysis) -> ExploreSection:
    """The section of a study that `explore_data` has data of."""
    frames, intervals = analysis.frames, analysis.study.sample.watch is None
    controls, low, high = _sliders(analysis)
    ask = "Restrict the space or move a threshold" if controls else "Restrict the space"
    several = len(frames.compared) > 1
    holm = f"p by Holm, over {len(frames.compared)} comparisons"
    tests = ["p", *([holm] if several else []), "Significant"] if intervals else []
    # Of two arms, the table has both outcomes and the score; of more, what the menu above it says.
    what = ["Difference in"] if frames.has_thresholds and not several else []
    return {
        "counted": f"{_counted(analysis)}.",
        "reading": f"{ask}, and the numbers below are computed again.",
        "epoch": analysis.epoch,
        "intervals": intervals,
        "low": f"{low:.2f}",
        "high": f"{max(high, low + 0.01):.2f}",
        "controls": controls,
        "cells": _cells(analysis),
        "rows": _rows(analysis) if frames.has_thresholds else [],
        "compared": bool(frames.compared),
        "heads": ["Arms", *what, "Estimate", *tests],
        "note": _note(analysis) if intervals else WATCHED,
    }


def _counted(analysis: Analysis) -> str:
    """`28 trials of 6 configurations count here, 9 of which diverged; 2 more failed`: `countedWords` in the script."""
    trials, tasks = analysis.study.planned, analysis.frames.tasks
    counted = trials[trials["counted"]]
    configurations = plural(int(analysis.trials["configuration"].nunique()), "configuration")
    on = f" on {plural(len(tasks), 'task')}" if len(tasks) > 1 else ""
    count = "counts" if len(counted) == 1 else "count"
    diverged = int((counted["status"] == "diverged").sum())
    ended = f", {diverged} of which diverged" if diverged else ""
    missing = int(own_scores(counted, analysis.epoch).isna().sum())
    if missing:
        others = "a score that stands in" if len(tasks) > 1 else f"{number(worst_scores(analysis.frames)[0])} stands in"
        ended += f" (in plots and means, {others} for the {missing} without a score)"
    failed = int(trials["status"].isin(NO_RESULT).sum())
    if failed:
        ended += f"; {failed} more failed"
    return f"{plural(len(counted), 'trial')} of {configurations}{on} {count} here{ended}"


def _sliders(analysis: Analysis) -> tuple[list[ThresholdSlider], float, float]:
    """The sliders and the ends of their scale; none without thresholds or without a score."""
    scores = own_scores(analysis.pairs, analysis.epoch).dropna()
    if not analysis.frames.has_thresholds or scores.empty:
        return [], 0.0, 1.0
    levels: dict[JudgedOutcome, float] = {"learned_nothing": analysis.nothing, "good": analysis.good}
    worse, good = ("above", "at most") if analysis.goal.minimizes else ("below", "at least")
    sign = "at most" if analysis.judge.inclusive else worse
    if analysis.judge.cells:
        sign += " (the lowest threshold; the others move with it)"
    labels: dict[JudgedOutcome, str] = {"learned_nothing": f"Learned nothing: {sign}", "good": f"Good: {good}"}
    sliders: list[ThresholdSlider] = [
        {"outcome": outcome, "label": label, "value": repr(levels[outcome]), "shown": f"{levels[outcome]:.3f}"}
        for outcome, label in labels.items()
    ]
    known = [*scores, *levels.values()]
    return sliders, _hundredths(min(known), math.floor), _hundredths(max(known), math.ceil)


def _hundredths(value: float, whole: Callable[[float], int]) -> float:
    """The value to two decimals, which those beyond 2^53 hundredths do not have."""
    return whole(100 * value) / 100 if abs(value) < 1e13 else value


def _cells(analysis: Analysis) -> str:
    known = distinct_thresholds(analysis.study.planned, analysis.epoch) if analysis.judge.cells else []
    return f", each trial by its own threshold, {known[0]:.3f} to {known[-1]:.3f}" if known else ""


def _rows(analysis: Analysis) -> list[ArmRow]:
    return [
        {
            "arm": text(arm, 60),
            "place": place,
            "learned_nothing": _bar(entries["learned_nothing"]),
            "good": _bar(entries["good"]),
        }
        for place, (arm, entries) in enumerate(analysis.outcomes(analysis.epoch).items())
    ]


def _bar(entry: Fraction) -> Bar:
    width = "0" if entry["fraction"] is None else f"{100 * entry['fraction']:.4g}"
    return {"text": share_cell(entry), "width": width}


def _note(analysis: Analysis) -> str:
    """Which methods the script uses, and what it leaves to the rest of the page."""
    frames = analysis.frames
    name, widened = ("Student’s", ", widened for skewness") if frames.paired else ("Welch’s", "")
    known = f"{name} interval and test of mean differences{widened}"
    if frames.has_thresholds:
        tests = "with the Mantel-Haenszel test over tasks" if len(frames.tasks) > 1 else "and score test"
        differences = f"Tango’s interval {tests}" if frames.paired else "Newcombe’s interval"
        known = f"Wilson’s intervals of fractions, {differences} of their differences; {known}"
    return (
        f"As in the rest of the page: {known}. Bands of profiles, and all other sections except the table of "
        "all configurations, ignore your restriction. A restriction chosen after seeing the results needs "
        "a new study to confirm it."
    )
