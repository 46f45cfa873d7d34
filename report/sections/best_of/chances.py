"""The probability that the best of an arm's trials beats that of another's, by number of trials and by hours."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from report.comparison import by_configuration, normalised, side_by_side
from report.frames import TASK_BLOCK
from report.judged_study import JudgedStudy
from report.sections.best_of.entries import BestOfResult, BestOfResults, HoursToTarget, OnTask, WinAt
from report.sections.budget import SHOWN
from robustness.statistics.best_of import Win, crossing, equal_hours, wins
from robustness.statistics.budget import MOST_SHARE, REACHED, budget_sizes, trials_needed

MOST = 40
"""Budgets shown; every n up to a tenth of the configurations where there are no more."""


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
    several, name = len(frames.tasks) > 1, f"score_{frames.rule}"
    whole = judged.assign(**{name: normalised(judged, judged[name])}) if several else judged
    places = judged["replicate"] // TASK_BLOCK
    tasks: list[OnTask] = [
        {"task": task, "comparisons": _comparisons(study, judged[places == place], {})}
        for place, task in enumerate(frames.tasks if several else ())
    ]
    return {"chance": REACHED, "cost": cost, "comparisons": _comparisons(study, whole, cost), "tasks": tasks}


def _comparisons(study: JudgedStudy, judged: pd.DataFrame, cost: Mapping[str, HoursToTarget]) -> list[BestOfResult]:
    """Every comparison that has pairs; by hours, too, where the cost of a trial is given."""
    found = (_compared(study, judged, arms, cost) for arms in study.frames.compared)
    return [entry for entry in found if entry is not None]


def _compared(
    study: JudgedStudy, judged: pd.DataFrame, arms: tuple[str, str], cost: Mapping[str, HoursToTarget]
) -> BestOfResult | None:
    frames = study.frames
    comparable = judged[f"score_{frames.rule}"]
    pairs = by_configuration(side_by_side(judged, comparable, list(arms))).to_numpy(dtype=float)
    if not len(pairs):
        return None
    first, second = frames.goal.oriented(pairs).T
    with_interval = int(len(pairs) * MOST_SHARE)
    sizes = sorted({*(range(1, with_interval + 1) if with_interval <= MOST else ()), *budget_sizes(len(pairs), MOST)})
    sizes = sorted({*sizes, *(n for n in SHOWN if n <= len(pairs))})
    found = wins(first, second, [(n, n) for n in sizes])
    crossed = crossing(found)
    costs = [cost[arm]["trial"] if cost else None for arm in arms]
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
