"""The chance of winning at each budget, as lines and in a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from report.document import Numbers, Picture, Section
from report.drawing.axes import plain_numbers
from report.drawing.style import DASHES, INK, MARKERS, Arms, panel
from report.sections.best_of.entries import BestOfResult, BestOfResults, HoursToTarget, WinAt
from report.sections.budget import SHOWN, intervals_end, trials_read
from report.watched import NO_BANDS
from report.words import bracketed, exact_percent, text
from robustness.errors import plural
from robustness.statistics.budget import FEW, MOST_SHARE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

READ = 3
MOST_TABULATED = 0.25
"""Of the configurations: with more trials, chances rest on the best few of each arm."""
"""Comparisons in the sentence; the table has all."""
MOST_LINES = 6
MOST_TASKS = 7
"""Pictures of single tasks and of all together."""
ALL_TASKS = "all tasks together"
Spaces: TypeAlias = "list[tuple[str, list[BestOfResult]]]"
"""The comparisons on each task, the last on all together; a single task has no name."""


def sections(analysis: Analysis) -> Iterator[Section]:
    """The probability by number of trials; none without a pair."""
    found = analysis.results["best_of"]
    if not found["comparisons"]:
        return
    spaces = [(task["task"], task["comparisons"]) for task in found["tasks"] if task["comparisons"]]
    spaces.append((ALL_TASKS if spaces else "", found["comparisons"]))
    rows = [
        row for task, comparisons in spaces for entry in comparisons for row in _rows(entry, task, bool(spaces[1:]))
    ]
    columns = (*(("Task",) if spaces[1:] else ()), "Arms", "Trials", "Chance of winning [95 %]")
    n = _trials_read(min(entry["configurations"] for entry in found["comparisons"]))
    clauses = [_clause(entry, n) for entry in found["comparisons"]]
    more = len(clauses) - READ
    reading = (
        f"How likely the best of {plural(n, 'random trial')} of the arm named first beats the best of {n} of the "
        f"other{', over all tasks together' if spaces[1:] else ''}: {'; '.join(clauses[:READ])}"
        + (f"; {more} more in the table." if more > 0 else ".")
    )
    yield Section(
        "best-of",
        "At another budget",
        reading,
        tuple(_pictures(analysis, spaces)),
        Numbers(columns, tuple(rows)),
        tuple(_notes(analysis, found)),
    )


def _pictures(analysis: Analysis, spaces: Spaces) -> Iterator[Picture]:
    """A picture by trials for each task and for all, and one by hours."""
    watched = analysis.study.sample.watch is not None
    for place, (task, comparisons) in enumerate(spaces[-MOST_TASKS:]):
        yield Picture(
            "best-of" if place == len(spaces[-MOST_TASKS:]) - 1 else f"best-of-{place}",
            f"Chance of winning by number of trials{f': {text(task, 40)}' if task else ''}",
            "A line for each comparison: the probability that the best of n trials of the arm named first is better "
            "than that of the other"
            + ("." if watched else ", with 95 % intervals up to a tenth of the configurations."),
            partial(_draw, analysis.arms, comparisons, "trials"),
        )
    timed = [entry for entry in spaces[-1][1] if len(entry["hours"]) > 1]
    if timed:
        yield Picture(
            "best-of-hours",
            "Chance of winning by hours",
            "The same for arms that each have the same hours of training: a line for each comparison.",
            partial(_draw, analysis.arms, timed, "hours"),
        )


def _rows(entry: BestOfResult, task: str, several: bool) -> Iterator[tuple[str, ...]]:
    own = (*((text(task, 60),) if several else ()), _named(entry))
    for win in entry["trials"]:
        if win["first"] in SHOWN and _is_tabulated(entry, win):
            yield (*own, str(win["first"]), _cell(win))
    hours = [win for win in entry["hours"] if _is_tabulated(entry, win)]
    for win in hours[:: max(1, len(hours) // 4)]:
        yield (*own, f"{win['hours']:.3g} h: {win['second']} and {win['first']}", _cell(win))


def _is_tabulated(entry: BestOfResult, win: WinAt) -> bool:
    """Whether so few trials are compared that the answer does not rest on a few of the configurations."""
    return max(win["first"], win["second"]) <= max(1.0, MOST_TABULATED * entry["configurations"])


def _cell(win: WinAt) -> str:
    """`48.4 % [24.2 % to 73.3 %]`, or that there is no interval."""
    cell = bracketed(*_of_second(win), exact_percent)
    return cell if win["low"] is not None else f"{cell} (no interval)"


def _trials_read(configurations: int) -> int:
    """The number of trials of which the sentence tells, which has an interval where any has."""
    return trials_read(max(1, int(MOST_SHARE * configurations)))


def _notes(analysis: Analysis, found: BestOfResults) -> Iterator[str]:
    configurations = min(entry["configurations"] for entry in found["comparisons"])
    if analysis.study.sample.watch is not None:
        ends = NO_BANDS
    elif configurations < FEW:
        ends = intervals_end(configurations)
    else:
        ends = f"{intervals_end(configurations)} Beyond it, lines are dotted."
    yield (
        f"Each arm tries random configurations of its own, and ties count half. {ends} Beyond a quarter of the "
        "configurations, the chance rests on a few trials of each arm and is not in the table."
    )
    if found["tasks"]:
        yield (
            "On a task, each arm is tuned for that task. Over all tasks, one configuration of each arm is chosen for "
            "all of them, by its mean score in standard deviations of each task; the arm that wins there may lose on "
            "a single task."
        )
    for arm, cost in found["cost"].items():
        if cost["trial"] is not None:
            target = "" if cost["target"] is None else f", {_target(cost)} h until one is good with 90 % chance"
            yield f"{text(arm, 60)}: {cost['trial']:.3g} h a trial on average{target}."


def _named(entry: BestOfResult) -> str:
    return f"{text(entry['arms'][1], 40)} against {text(entry['arms'][0], 40)}"


def _target(cost: HoursToTarget) -> str:
    """`0.0375 [0.0113 to 0.111]`, or `[0.0113 or more]` where the share of good trials may be 0."""
    target, low, high = cost["target"], cost["target_low"], cost["target_high"]
    if low is None:
        return f"{target:.3g}"
    return f"{target:.3g} [{low:.3g} or more]" if high is None else f"{target:.3g} [{low:.3g} to {high:.3g}]"


def _clause(entry: BestOfResult, n: int) -> str:
    """`radial against mfvi 77.5 % [70.7 % to 83.0 %]`."""
    win = next(each for each in entry["trials"] if each["first"] == n)
    return f"{_named(entry)} {bracketed(*_of_second(win), exact_percent)}{_changing(entry)}"


def _changing(entry: BestOfResult) -> str:
    """From which number of trials on another arm is likelier to win, where there are intervals."""
    at = entry["crossing"]["trials"]
    if at is None or at > max(1.0, MOST_SHARE * entry["configurations"]):
        return ""
    early, late = (text(arm, 40) for arm in entry["arms"][:: -1 if _of_second(entry["trials"][0])[0] > 0.5 else 1])
    return f" (with fewer than {plural(at, 'trial')} {early} is likelier to win, from then on {late})"


def _draw(arms: Arms, comparisons: list[BestOfResult], budget: Literal["trials", "hours"]) -> Figure:
    shown = comparisons[:MOST_LINES]
    figure, axes = panel(height=3.2 + 0.2 * len(shown))
    # In the colour of the arm named first, whose further lines are dashed.
    drawn: Counter[str] = Counter()
    for entry, marker in zip(shown, MARKERS, strict=False):
        first = entry["arms"][1]
        colour, dash = arms.colour(first), DASHES[drawn[first] % len(DASHES)]
        drawn[first] += 1
        label = f"{text(entry['arms'][1], 28)} vs {text(entry['arms'][0], 28)}"
        at = [(_budget(win, budget), win) for win in entry[budget]]
        sure = [(x, win) for x, win in at if max(win["first"], win["second"]) <= MOST_SHARE * entry["configurations"]]
        axes.plot([x for x, _ in at], [100 * _of_second(win)[0] for _, win in at], color=colour, linestyle=(0, (1, 3)))
        style: dict[str, Any] = {"color": colour, "linestyle": dash, "marker": marker}
        style |= {"markevery": 0.12, "markersize": 5}
        axes.plot([x for x, _ in sure], [100 * _of_second(win)[0] for _, win in sure], label=label, **style)
        known = [(x, win) for x, win in at if win["low"] is not None and win["high"] is not None]
        low, high = ([100 * float(_of_second(win)[end] or 0.0) for _, win in known] for end in (1, 2))
        axes.fill_between([x for x, _ in known], low, high, color=colour, alpha=0.3 / max(2, len(shown)), linewidth=0)
    axes.axhline(50, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    if budget == "trials":
        ticks = [n for n in SHOWN if n <= max(entry["configurations"] for entry in comparisons)]
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.minorticks_off()
    else:
        plain_numbers(axes.xaxis)
    axes.set_ylim(0, 100)
    axes.set_xlabel("trials of each arm" if budget == "trials" else "hours of each arm")
    axes.set_ylabel("% chance of winning")
    figure.legend(loc="upper left", ncols=1, fontsize=9.5, handlelength=1.4)
    return figure


def _of_second(win: WinAt) -> tuple[float, float | None, float | None]:
    """The probability that the second arm is better, with its interval: it is named first, as in all comparisons."""
    low, high = (None if end is None else 1 - end for end in (win["high"], win["low"]))
    return 1 - win["probability"], low, high


def _budget(win: WinAt, budget: Literal["trials", "hours"]) -> float:
    return float(win["first"]) if budget == "trials" or win["hours"] is None else win["hours"]
