"""Tuning budget: the best score to expect after n random trials, and how many trials a good one takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from report.document import Numbers, Picture, Section
from report.drawing.axes import label_ends
from report.drawing.style import OUTCOME_COLOURS, panel
from report.judged_study import JudgedStudy
from report.watched import NO_BANDS
from report.words import Writer, bracketed, brief, percent, text
from robustness.errors import plural
from robustness.statistics.budget import FEW, MOST_SHARE, REACHED, budget_band, budget_sizes, trials_needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

SHOWN = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
READ_AT = 5
"""The number of trials of which the sentences tell."""


def last_with_interval(configurations: int) -> int:
    """The largest number of trials that has an interval, if there are configurations enough."""
    return max(1, int(configurations * MOST_SHARE))


def intervals_end(configurations: int) -> str:
    """Up to which number of trials there are intervals."""
    if configurations < FEW:
        return f"Intervals need {FEW} configurations."
    return f"Intervals stop at n = {last_with_interval(configurations)}, a tenth of the configurations."


def trials_read(most: int) -> int:
    """The number of trials of which the sentences tell, where at most so many were run."""
    return max(n for n in SHOWN if n <= min(READ_AT, most))


class ArmBudget(TypedDict):
    """An arm's expected best score by number of trials, with its band, and the trials that a good one takes."""

    trials: list[int]
    expected: list[float]
    low: list[float | None] | None
    high: list[float | None] | None
    """None where there is no interval."""
    needed: int | None
    needed_low: int | None
    needed_high: int | None


class BudgetResults(TypedDict):
    """What tuning costs."""

    chance: float
    arms: dict[str, ArmBudget]


def results(study: JudgedStudy) -> BudgetResults:
    """For each arm the expected best score by number of trials with its band, and the trials that a good one takes.

    No arm of a study with several tasks.
    """
    arms: dict[str, ArmBudget] = {}
    # Scores of several tasks have no common best.
    for arm in study.frames.arms if len(study.frames.tasks) < 2 else ():
        groups = study.paired_scores[arm]
        if not groups:
            continue
        trials = sum(len(group) for group in groups)
        tenth = last_with_interval(len(groups))
        sizes = sorted({*budget_sizes(trials), tenth, *(size for size in SHOWN if size <= trials)})
        goal = study.frames.goal
        band = budget_band([goal.oriented(group) for group in groups], sizes)
        ends = [_known(goal.oriented(end)) for end in (band.low, band.high)]
        good = study.outcome_counts[arm]["good"]
        needed, least, most = (
            None if share is None else trials_needed(min(1.0, share), study.sample.population)
            for share in (good["fraction"], good["high"], good["low"])
        )
        arms[arm] = {
            "trials": sizes,
            "expected": goal.oriented(band.middle).tolist(),
            "low": ends[1] if goal.minimizes else ends[0],
            "high": ends[0] if goal.minimizes else ends[1],
            "needed": needed,
            "needed_low": least,
            "needed_high": most,
        }
    return {"chance": REACHED, "arms": arms}


def _known(ends: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(end) else float(end) for end in ends]


def sections(analysis: Analysis) -> Iterator[Section]:
    """The budget curves; none without a complete pair, or with several tasks."""
    budget = analysis.results["budget"]
    arms = budget["arms"]
    if not arms:
        return
    chance = f"{percent(budget['chance'])} %"
    thresholds = analysis.frames.has_thresholds
    needed = ", ".join(f"{text(arm, 60)} {_needed(entry)}" for arm, entry in arms.items())
    picture = Picture(
        "budget",
        "Expected best score by number of trials",
        f"The expected best {analysis.metric_words} by number of random trials, a "
        f"{'falling' if analysis.goal.minimizes else 'rising'} line for each arm, with its 95 % band up to a tenth of "
        "the configurations." + (f" Trials for a good one with {chance} chance: {needed}." if thresholds else ""),
        partial(_draw, analysis, arms),
    )
    rows = []
    for arm, entry in arms.items():
        for n in SHOWN:
            if n > entry["trials"][-1]:
                break
            rows.append((text(arm, 60), str(n), _expected(entry, n)))
    n = trials_read(min(entry["trials"][-1] for entry in arms.values()))
    best = ", ".join(f"{text(arm, 60)} {_expected(entry, n)}" for arm, entry in arms.items())
    reading = f"Expected best {analysis.metric_words} of {plural(n, 'random trial')}: {best}."
    if thresholds:
        most = "at most" if analysis.goal.minimizes else "at least"
        reading += f" Random trials until one is good ({most} {analysis.good:g}) with {chance} chance: {needed}."
    configurations = min(len(analysis.study.paired_scores[arm]) for arm in arms)
    yield Section(
        "budget",
        "What tuning costs",
        reading,
        (picture,),
        Numbers(("Arm", "Trials", "Expected best score"), tuple(rows)),
        (
            "The curve ends at the number of trials that were run; near its end it rests on the few best of them.",
            NO_BANDS
            if analysis.study.sample.watch is not None
            else f"Bands are pointwise: at each number of trials on its own. {intervals_end(configurations)}",
        ),
    )


def _expected(entry: ArmBudget, n: int) -> str:
    """The expected best score of n trials, with its interval where it has one."""
    value = float(np.interp(n, entry["trials"], entry["expected"]))
    low, high = (_end_at(n, entry["trials"], curve) for curve in (entry["low"], entry["high"]))
    return bracketed(value, low, high, Writer(brief, 4))


def _end_at(n: int, trials: list[int], curve: list[float | None] | None) -> float | None:
    """An end of the band after n trials; None where there is none."""
    known = [(at, end) for at, end in zip(trials, curve or (), strict=False) if end is not None]
    if not known or n > known[-1][0]:
        return None
    return float(np.interp(n, [at for at, _ in known], [end for _, end in known]))


def _needed(entry: ArmBudget) -> str:
    if entry["needed"] is None:
        return "unknown, since none was good"
    if entry["needed_low"] is None:
        return str(entry["needed"])
    most = "any number" if entry["needed_high"] is None else str(entry["needed_high"])
    if str(entry["needed_low"]) == most:
        return str(entry["needed"])
    return f"{entry['needed']} [{entry['needed_low']} to {most}]"


def _draw(analysis: Analysis, arms: Mapping[str, ArmBudget]) -> Figure:
    figure, axes = panel()
    ends = {}
    for arm, entry in arms.items():
        colour = analysis.arms.colour(arm)
        x, y = np.array(entry["trials"], dtype=float), np.array(entry["expected"], dtype=float)
        if entry["low"] is not None and entry["high"] is not None:
            low, high = (np.array(end, dtype=float) for end in (entry["low"], entry["high"]))
            axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
        mark = "o" if len(x) == 1 else None
        axes.plot(x, y, color=colour, linestyle=analysis.arms.dash(arm), linewidth=1.8, marker=mark)
        ends[arm] = (float(x[-1]), float(y[-1]))
    most = max(entry["trials"][-1] for entry in arms.values())
    axes.set_xscale("log")
    axes.set_xlim(0.95, max(most * 1.05, 2))
    ticks = [n for n in SHOWN if n <= most]
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    bottom, top = axes.get_ylim()
    if bottom < analysis.good < top:
        axes.axhline(analysis.good, color=OUTCOME_COLOURS["good"], linewidth=1.2, linestyle=(0, (4, 3)))
        axes.text(0.02, analysis.good, "good", transform=axes.get_yaxis_transform(), va="bottom", fontsize=9.5)
    axes.set_xlabel("random trials")
    axes.set_ylabel(f"expected best {analysis.metric_words}")
    label_ends(axes, ends, analysis.arms)
    return figure
