"""Another budget: which arm has the better best score after n trials, or after the same number of hours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from report.comparison import by_configuration, normalised, side_by_side
from report.document import Numbers, Picture, Section
from report.drawing.axes import plain_numbers, powers_of_two
from report.drawing.style import ARM_COLOURS, INK, panel
from report.judged_study import JudgedStudy
from report.records.estimates import Ends
from report.sections.budget import INTERVALS_END
from report.watched import NO_BANDS
from report.words import bracketed, exact_percent, text
from robustness.statistics.best_of import Win, crossing, equal_hours, wins
from robustness.statistics.budget import MOST_SHARE, REACHED, budget_sizes, trials_needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST = 40
"""Budgets shown; every n up to a tenth of the configurations where there are no more."""
READ = 3
"""Comparisons in the sentence; the table has all."""


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
    target_low: float | None
    target_high: float | None
    """By the ends of the interval of the share of good trials; None where no number of trials is enough."""


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


def results(study: JudgedStudy) -> BestOfResults:
    """Every comparison by number of trials and by hours."""
    frames, judged = study.frames, study.planned
    seconds = judged.loc[judged["paired"]].groupby("arm")["seconds"].mean()
    cost: dict[str, HoursToTarget] = {}
    for arm in frames.arms:
        hours = float(seconds.get(arm, math.nan)) / 3600
        good = study.outcome_counts[arm]["good"] if frames.has_thresholds else None
        shares = (None, None, None) if good is None else (good["fraction"], good["high"], good["low"])
        needed = [
            None if share is None else trials_needed(min(1.0, share), study.sample.population) for share in shares
        ]
        known = math.isfinite(hours) and hours > 0
        target, low, high = (None if each is None or not known else each * hours for each in needed)
        cost[arm] = {
            "trial": hours if known else None,
            "target": target,
            "target_low": low,
            "target_high": high,
        }
    comparisons = [entry for arms in frames.compared if (entry := _compared(study, arms, cost)) is not None]
    return {"chance": REACHED, "cost": cost, "comparisons": comparisons}


def _compared(study: JudgedStudy, arms: tuple[str, str], cost: dict[str, HoursToTarget]) -> BestOfResult | None:
    frames, judged = study.frames, study.planned
    scores = judged[f"score_{frames.rule}"]
    comparable = normalised(judged, scores) if len(frames.tasks) > 1 else scores
    pairs = by_configuration(side_by_side(judged, comparable, list(arms))).to_numpy(dtype=float)
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
    if not found["comparisons"]:
        return
    watched = analysis.study.sample.watch is not None
    picture = Picture(
        "best-of",
        "Chance of the better best score by number of trials",
        "A line for each comparison: the probability that the best of n trials of the arm named first is better than "
        "that of the other" + ("." if watched else ", with 95 % intervals up to a tenth of the configurations."),
        partial(_draw, found["comparisons"], "trials"),
    )
    timed = [entry for entry in found["comparisons"] if len(entry["hours"]) > 1]
    by_hours = Picture(
        "best-of-hours",
        "Chance of the better best score by hours",
        "The same for arms that each have the same hours of training: a line for each comparison.",
        partial(_draw, timed, "hours"),
    )
    rows, clauses = [], []
    for entry in found["comparisons"]:
        name = f"{text(entry['arms'][1], 40)} against {text(entry['arms'][0], 40)}"
        rows += [
            (name, str(win["first"]), bracketed(*_of_second(win), exact_percent))
            for win in entry["trials"]
            if win["first"] & (win["first"] - 1) == 0
        ]
        rows += [
            (
                name,
                f"{win['hours']:.3g} h: {win['second']} and {win['first']}",
                bracketed(*_of_second(win), exact_percent),
            )
            for win in entry["hours"][:: max(1, len(entry["hours"]) // 4)]
        ]
        clauses.append(f"{name} {_clause(entry)}")
    notes = (
        "Each arm tunes on its own random configurations. "
        + (
            NO_BANDS
            if watched
            else f"{INTERVALS_END} Lines are dotted there; at the full number the best score of each arm is a single "
            "trial's."
        ),
        *(
            f"{text(arm, 60)}: {cost['trial']:.3g} h a trial"
            + ("" if cost["target"] is None else f", {_target(cost)} h until one is good with 90 % chance")
            + "."
            for arm, cost in found["cost"].items()
            if cost["trial"] is not None
        ),
    )
    more = len(clauses) - READ
    reading = f"Chance that the best score of the arm named first is better: {'; '.join(clauses[:READ])}" + (
        f"; {more} more in the table." if more > 0 else "."
    )
    numbers = Numbers(("Arms", "Trials", "Chance [95 %]"), tuple(rows))
    pictures = (picture, by_hours) if timed else (picture,)
    yield Section("best-of", "At another budget", reading, pictures, numbers, notes)


def _target(cost: HoursToTarget) -> str:
    """`0.0375 [0.0113 to 0.111]`, or `[0.0113 or more]` where the share of good trials may be 0."""
    target, low, high = cost["target"], cost["target_low"], cost["target_high"]
    if low is None:
        return f"{target:.3g}"
    return f"{target:.3g} [{low:.3g} or more]" if high is None else f"{target:.3g} [{low:.3g} to {high:.3g}]"


def _clause(entry: BestOfResult) -> str:
    """`22.5 % for one trial, 19.9 % for 8`: the last number that has an interval, or a tenth of the configurations."""
    start = entry["trials"][0]
    end = max(
        (win for win in entry["trials"] if win["first"] <= max(1.0, MOST_SHARE * entry["configurations"])),
        key=lambda win: win["first"],
    )
    words = f"{exact_percent(1 - start['probability'])} for one trial"
    if end["first"] > 1:
        words += f", {exact_percent(1 - end['probability'])} for {end['first']}"
    at = entry["crossing"]["trials"]
    return words if at is None or at > end["first"] else f"{words} (the likelier winner changes at {at})"


def _draw(comparisons: list[BestOfResult], budget: Literal["trials", "hours"]) -> Figure:
    figure, axes = panel()
    for colour, entry in zip(ARM_COLOURS, comparisons[:6], strict=False):
        label = f"{text(entry['arms'][1], 14)} vs {text(entry['arms'][0], 14)}"
        at = [(_budget(win, budget), win) for win in entry[budget]]
        sure = [(x, win) for x, win in at if max(win["first"], win["second"]) <= MOST_SHARE * entry["configurations"]]
        axes.plot([x for x, _ in at], [100 * _of_second(win)[0] for _, win in at], color=colour, linestyle=(0, (1, 2)))
        axes.plot([x for x, _ in sure], [100 * _of_second(win)[0] for _, win in sure], color=colour, label=label)
        known = [(x, win) for x, win in at if win["low"] is not None and win["high"] is not None]
        low, high = ([100 * float(_of_second(win)[end] or 0.0) for _, win in known] for end in (1, 2))
        axes.fill_between([x for x, _ in known], low, high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(50, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    if budget == "trials":
        powers_of_two(axes.xaxis)
    plain_numbers(axes.xaxis)
    axes.set_ylim(0, 100)
    axes.set_xlabel("trials of each arm" if budget == "trials" else "hours of each arm")
    axes.set_ylabel("% chance that the arm named first is better")
    axes.legend(fontsize=9)
    return figure


def _of_second(win: WinAt) -> tuple[float, float | None, float | None]:
    """The probability that the second arm is better, with its interval: it is named first, as in all comparisons."""
    low, high = (None if end is None else 1 - end for end in (win["high"], win["low"]))
    return 1 - win["probability"], low, high


def _budget(win: WinAt, budget: Literal["trials", "hours"]) -> float:
    return float(win["first"]) if budget == "trials" or win["hours"] is None else win["hours"]
