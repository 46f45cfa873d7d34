"""Another budget: which arm has the better best score after n trials, or after the same number of hours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from report.comparison import by_configuration, side_by_side
from report.document import Numbers, Picture, Section
from report.drawing.axes import plain_numbers, powers_of_two
from report.drawing.style import INK, panel
from report.judged_study import JudgedStudy
from report.records.estimates import Ends
from report.words import bracketed, exact_percent, text
from robustness.statistics.best_of import MOST_SHARE, Win, crossing, equal_hours, wins
from robustness.statistics.budget import REACHED, budget_sizes, trials_needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST = 40
"""Budgets shown; every n up to a tenth of the configurations where there are no more."""


class WinAt(Ends):
    """The probability that the first arm's best of `first` trials is better than the second's best of `second`."""

    first: int
    second: int
    hours: float | None
    """The budget, where it is one of hours; else None."""
    probability: float


class Crossing(TypedDict):
    """The number of trials at which the likelier winner changes, and the range in which it may be even."""

    trials: int | None
    low: int | None
    high: int | None


class HoursToTarget(TypedDict):
    """Mean hours of a trial, and the hours until one of the arm's trials is good with 90 % chance."""

    trial: float | None
    target: float | None


class BestOfResult(TypedDict):
    """Two arms at every budget."""

    arms: list[str]
    configurations: int
    trials: list[WinAt]
    crossing: Crossing
    hours: list[WinAt]


class BestOfResults(TypedDict):
    """Every comparison, and what a trial of each arm costs."""

    chance: float
    cost: dict[str, HoursToTarget]
    comparisons: list[BestOfResult]


def results(study: JudgedStudy) -> BestOfResults | None:
    """Every comparison by number of trials and by hours; None for a watched sweep."""
    frames, judged = study.frames, study.planned
    if study.sample.watch is not None:
        return None
    seconds = judged.loc[judged["paired"]].groupby("arm")["seconds"].mean()
    cost: dict[str, HoursToTarget] = {}
    for arm in frames.arms:
        hours = float(seconds.get(arm, math.nan)) / 3600
        share = study.outcome_counts[arm]["good"]["fraction"] if frames.has_thresholds else None
        needed = None if share is None else trials_needed(min(1.0, share), study.sample.population)
        known = math.isfinite(hours) and hours > 0
        cost[arm] = {
            "trial": hours if known else None,
            "target": needed * hours if known and needed is not None else None,
        }
    comparisons = [entry for arms in frames.compared if (entry := _compared(study, arms, cost)) is not None]
    return {"chance": REACHED, "cost": cost, "comparisons": comparisons}


def _compared(study: JudgedStudy, arms: tuple[str, str], cost: dict[str, HoursToTarget]) -> BestOfResult | None:
    frames, judged = study.frames, study.planned
    pairs = by_configuration(side_by_side(judged, judged[f"score_{frames.rule}"], list(arms))).to_numpy(dtype=float)
    if not len(pairs):
        return None
    first, second = frames.goal.oriented(pairs).T
    with_interval = int(len(pairs) * MOST_SHARE)
    sizes = sorted({*(range(1, with_interval + 1) if with_interval <= MOST else ()), *budget_sizes(len(pairs), MOST)})
    found = wins(first, second, [(n, n) for n in sizes])
    crossed = crossing(found)
    costs = [cost[arm]["trial"] for arm in arms]
    by_hours: list[WinAt] = []
    if costs[0] is not None and costs[1] is not None:
        grid = np.geomspace(max(costs[0], costs[1]), len(pairs) * min(costs[0], costs[1]), 12)
        budgets: dict[float, tuple[int, int]] = {}
        for hours in grid.tolist():
            fits = equal_hours(hours, costs[0], costs[1], len(pairs))
            if fits is not None and fits not in budgets.values():
                budgets[hours] = fits
        if budgets:
            by_hours = [
                _win(win, hours) for hours, win in zip(budgets, wins(first, second, [*budgets.values()]), strict=True)
            ]
    return {
        "arms": list(arms),
        "configurations": len(pairs),
        "trials": [_win(win, None) for win in found],
        "crossing": {"trials": crossed.trials, "low": crossed.low, "high": crossed.high},
        "hours": by_hours,
    }


def _win(win: Win, hours: float | None) -> WinAt:
    return {
        "first": win.first,
        "second": win.second,
        "hours": hours,
        "probability": win.probability,
        "low": win.interval.low,
        "high": win.interval.high,
        "interval": win.interval.method,
    }


def sections(analysis: Analysis) -> Iterator[Section]:
    """The probability by number of trials; none without a pair."""
    found = analysis.results["best_of"]
    if found is None or not found["comparisons"]:
        return
    picture = Picture(
        "best-of",
        "Chance of the better best score by number of trials",
        "A line for each comparison: the probability that the first arm's best of n trials is better than the "
        "second's, with 95 % intervals up to a tenth of the configurations.",
        partial(_draw, found["comparisons"]),
    )
    rows, clauses = [], []
    for entry in found["comparisons"]:
        name = f"{text(entry['arms'][0], 40)} against {text(entry['arms'][1], 40)}"
        for win in entry["trials"]:
            if win["first"] & (win["first"] - 1) == 0:
                cell = bracketed(win["probability"], win["low"], win["high"], exact_percent)
                rows.append((name, str(win["first"]), cell))
        rows += [
            (
                name,
                f"{win['hours']:.3g} h: {win['first']} and {win['second']}",
                bracketed(win["probability"], win["low"], win["high"], exact_percent),
            )
            for win in entry["hours"][:: max(1, len(entry["hours"]) // 4)]
        ]
        at = entry["crossing"]["trials"]
        start, end = entry["trials"][0], entry["trials"][-1]
        clauses.append(
            f"{name} {exact_percent(start['probability'])} at n = 1"
            + (f", {exact_percent(end['probability'])} at n = {end['first']}" if end["first"] > 1 else "")
            + (f" (the likelier winner changes at n = {at})" if at is not None else "")
        )
    notes = (
        "Each arm tunes on its own random configurations. There is no interval beyond a tenth of the configurations: "
        "resamples have no better ones than the sample.",
        *(
            f"{text(arm, 60)}: {cost['trial']:.3g} h a trial"
            + ("" if cost["target"] is None else f", {cost['target']:.3g} h until one is good with 90 % chance")
            + "."
            for arm, cost in found["cost"].items()
            if cost["trial"] is not None
        ),
    )
    reading = f"Chance that the best of n random trials is better: {'; '.join(clauses)}."
    numbers = Numbers(("Arms", "Trials", "Chance [95 %]"), tuple(rows))
    yield Section("best-of", "At another budget", reading, (picture,), numbers, notes)


def _draw(comparisons: list[BestOfResult]) -> Figure:
    figure, axes = panel()
    for entry in comparisons[:6]:
        trials = [win["first"] for win in entry["trials"]]
        label = f"{text(entry['arms'][0], 14)} - {text(entry['arms'][1], 14)}"
        (line,) = axes.plot(trials, [100 * win["probability"] for win in entry["trials"]], label=label)
        known = [win for win in entry["trials"] if win["low"] is not None and win["high"] is not None]
        low, high = ([100 * float(win[end] or 0.0) for win in known] for end in ("low", "high"))
        axes.fill_between([win["first"] for win in known], low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    axes.axhline(50, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    powers_of_two(axes.xaxis)
    plain_numbers(axes.xaxis)
    axes.set_ylim(0, 100)
    axes.set_xlabel("trials of each arm")
    axes.set_ylabel("% chance that the first is better")
    axes.legend(fontsize=9)
    return figure
