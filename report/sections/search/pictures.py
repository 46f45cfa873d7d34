"""The search itself: the score of each run and the best so far, where the runs went, and slices of the space."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from report.document import Numbers, Picture, Section
from report.drawing.axes import integer_ticks, plain_numbers
from report.drawing.style import INK, panel
from report.scales import is_logarithmic, margin
from report.sections.search.entries import Run, SearchedArm, SearchedRange, SearchResults, Winner
from report.sections.search.runs import objective_goal_of
from report.words import DASH, metric_words, minus, named_values, number, score, spaced, text, typeset

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST_SLICES = 12


def sections(analysis: Analysis) -> Iterator[Section]:
    """Where the runs went, their history, and slices of the space; none without a search."""
    search: SearchResults | None = analysis.results.get("search")
    if search:
        yield from _winners(analysis, search)
        yield from _history(analysis, search)
        yield from _slices(analysis, search)


def _winners(analysis: Analysis, search: SearchResults) -> Iterator[Section]:
    """Where the runs went: how they ended, and the winner's configuration; none before the first run."""
    if not search["arms"]:
        return
    rows = []
    for arm, each in search["arms"].items():
        for part in each["searches"]:
            won = part["winner"]
            ended = ", ".join(f"{count} {spaced(name)}" for name, count in part["status"].items())
            place = (DASH,) * 3 if won is None else (f"run {won['number']}", score(won["score"]), _values(won, each))
            count = f"{part['ended']} of {part['wanted']}"
            named = (text(arm, 60), *_repeat(search, part["search"]))
            rows.append((*named, count, ended, f"{part['seconds'] / 60:.1f}", *place))
    runs = sum(each["ended"] for each in search["arms"].values())
    wanted = sum(each["wanted"] for each in search["arms"].values())
    hours = sum(each["seconds"] for each in search["arms"].values()) / 3600
    reading = f"{runs} of {wanted} runs have ended, in {hours:.2f} hours of training."
    several = search["searches"] > 1
    columns = ("Arm", *_repeat(search, "Search"), "Runs ended", "How", "Minutes", "Winner", "Score", "Hyperparameters")
    maps = _maps(analysis, search)
    ring = "rings mark the winner of each search" if several else "the ring is the winner"
    notes = (f"Larger points scored better; hollow ones are start-up runs; {ring}.",) if maps else ()
    yield Section("winning", "Where the runs went", reading, maps, Numbers(columns, tuple(rows)), notes)


def _history(analysis: Analysis, search: SearchResults) -> Iterator[Section]:
    """Each run's score and the best so far, one panel for each arm; none if no run has a score."""
    arms = {arm: each for arm, each in search["arms"].items() if _scored(each)}
    if not arms:
        return
    words = metric_words(search["objective"])
    scores = [value for each in arms.values() for _, value in _scored(each)]
    pad = margin(min(scores), max(scores), 0.05, 0.001)
    ends = (min(scores) - pad, max(scores) + pad)
    pictures, rows = [], []
    for place, (arm, each) in enumerate(arms.items()):
        won = each["winner"]
        best = "none has finished" if won is None else f"the best, {score(won['score'])}, is {_place(search, won)}"
        pictures.append(
            Picture(
                f"history-{place}",
                f"The search of {text(arm)}",
                f"{words} of each of {len(each['runs'])} runs of {text(arm, 60)} as points and the best so far as a "
                f"line{' for each search' if search['searches'] > 1 else ''}; {best}.",
                partial(_draw_history, analysis, arm, each, words, ends),
            )
        )
        rows += [_row(search, arm, run, each) for run in each["runs"]]
    notes = [_proposed(search), "A cross is a run that did not finish; a ring marks the winner."]
    if search["searches"] > 1:
        notes.append(f"Each of the {search['searches']} searches has its own line and its own winner.")
    yield Section(
        "history",
        "The search, run by run",
        f"The best run and what each arm's {words} gained after its start-up runs: {_gains(arms, search)}.",
        tuple(pictures),
        Numbers(
            ("Arm", *_repeat(search, "Search"), "Run", "Status", "Score", "Best so far", "Hyperparameters"),
            tuple(rows),
        ),
        tuple(notes),
    )


def _slices(analysis: Analysis, search: SearchResults) -> Iterator[Section]:
    """The score against each searched hyperparameter; none if nothing was searched or scored."""
    arms = {arm: each for arm, each in search["arms"].items() if _scored(each)}
    names = list(dict.fromkeys(name for each in arms.values() for name in each["space"]))
    scored = [run for each in arms.values() for run, _ in _scored(each)]
    names = [name for name in names if any(name in run["hyperparameters"] for run in scored)]
    if not names:
        return
    words = metric_words(search["objective"])
    pictures = [
        Picture(
            f"slice-{place}",
            f"By {text(name, 30)}",
            f"{words} of every run by {text(name, 60)}, a colour for each arm; rings are the winners: "
            + (", ".join(_won(arms, name)) or "none"),
            partial(_draw_slice, analysis, arms, name, words),
        )
        for place, name in enumerate(names[:MOST_SLICES])
    ]
    places = "; ".join(
        f"{text(name, 60)}: {', '.join(_won(arms, name)) or 'no winner'}" for name in names[:MOST_SLICES]
    )
    notes = ["Rings mark the winners, crosses runs that did not finish. A winner at an edge asks for a wider space."]
    if len(names) > MOST_SLICES:
        notes.append(f"The first {MOST_SLICES} of {len(names)} hyperparameters are drawn.")
    yield Section(
        "slices", "Slices of the space", f"Where the winners lie: {places}.", tuple(pictures), None, tuple(notes)
    )


def _maps(analysis: Analysis, search: SearchResults) -> tuple[Picture, ...]:
    """For each arm that searches two ranges or more, its runs over the first two."""
    maps = []
    for place, (arm, each) in enumerate(search["arms"].items()):
        ranges = [name for name, option in each["space"].items() if "low" in option][:2]
        runs = [(run, value) for run, value in _scored(each) if all(name in run["hyperparameters"] for name in ranges)]
        if len(ranges) == 2 and runs:
            maps.append(
                Picture(
                    f"map-{place}",
                    f"Where the runs of {text(arm)} went",
                    f"Each run of {text(arm, 60)} by {' and '.join(text(name, 60) for name in ranges)}; larger points "
                    "scored better, hollow ones are start-up runs, the ring is the winner.",
                    partial(_draw_map, analysis, arm, each, runs, ranges, int(search["startup"] or 0)),
                )
            )
    return tuple(maps)


def _draw_history(analysis: Analysis, arm: str, each: SearchedArm, words: str, ends: tuple[float, float]) -> Figure:
    figure, axes = panel()
    colour = analysis.arms.colour(arm)
    for part in each["searches"]:
        runs = [run for run in each["runs"] if run["search"] == part["search"]]
        best = [(run["number"], value) for run in runs if (value := run["best_so_far"]) is not None]
        if best:
            axes.step(*zip(*best, strict=True), where="post", color=colour, linewidth=1.8)
    _scatter(axes, _scored(each), [run["number"] for run, _ in _scored(each)], analysis, arm, each)
    axes.set_xlim(0.5, max(part["wanted"] for part in each["searches"]) + 0.5)
    axes.set_ylim(*ends)
    integer_ticks(axes.xaxis)
    axes.set_xlabel("run")
    axes.set_ylabel(words)
    return figure


def _draw_slice(analysis: Analysis, arms: Mapping[str, SearchedArm], name: str, words: str) -> Figure:
    figure, axes = panel()
    options = [each["space"][name] for each in arms.values() if name in each["space"]]
    choices = list(dict.fromkeys(choice for each in options if "choices" in each for choice in each["choices"]))
    places = {_key(choice): float(place) for place, choice in enumerate(choices)}
    for arm, each in arms.items():
        runs = [(run, y) for run, y in _scored(each) if name in run["hyperparameters"] and name in each["space"]]
        values = [run["hyperparameters"][name] for run, _ in runs]
        x = [places.get(_key(value), -1.0) for value in values] if choices else [_position(value) for value in values]
        if runs:
            _scatter(axes, runs, x, analysis, arm, each)
            axes.plot(
                [],
                [],
                color=analysis.arms.colour(arm),
                marker=analysis.arms.marker(arm),
                linestyle="none",
                label=text(arm, 16),
            )
    if choices:
        axes.set_xticks(range(len(choices)), [typeset(number(choice)) for choice in choices])
        axes.set_xlim(-0.5, len(choices) - 0.5)
    else:
        _scale(axes, "x", [option for option in options if "low" in option])
    figure.legend(loc="upper left", ncols=3, fontsize=9.5, handlelength=0.8, columnspacing=1.2)
    axes.set_xlabel(text(name, 30))
    axes.set_ylabel(words)
    return figure


def _draw_map(
    analysis: Analysis,
    arm: str,
    each: SearchedArm,
    runs: Sequence[tuple[Run, float]],
    names: Sequence[str],
    startup: int,
) -> Figure:
    figure, axes = panel()
    colour = analysis.arms.colour(arm)
    scores = objective_goal_of(analysis.frames).oriented(np.array([value for _, value in runs]))
    spread = float(np.ptp(scores)) or 1.0
    x, y = ([_position(run["hyperparameters"][name]) for run, _ in runs] for name in names)
    for place, (run, _) in enumerate(runs):
        size = 25 + 120 * float(scores[place] - scores.min()) / spread
        first = run["number"] <= startup
        axes.scatter(x[place], y[place], s=size, facecolors="none" if first else colour, edgecolors=colour, alpha=0.85)
        if _is_winner(run, each):
            axes.scatter(x[place], y[place], s=size + 130, facecolors="none", edgecolors=INK, linewidths=1.4)
    for name, side in zip(names, "xy", strict=True):
        _scale(axes, side, [option for option in (each["space"][name],) if "low" in option])
    axes.set_xlabel(text(names[0], 30))
    axes.set_ylabel(text(names[1], 30))
    return figure


def _scatter(
    axes: Axes, runs: Sequence[tuple[Run, float]], x: Sequence[float], analysis: Analysis, arm: str, each: SearchedArm
) -> None:
    """Runs as points, those that did not finish as crosses, a ring around the winner of each search."""
    colour, marker = analysis.arms.colour(arm), analysis.arms.marker(arm)
    for place, (run, value) in zip(x, runs, strict=True):
        if run["status"] == "finished":
            axes.scatter(place, value, s=34, color=colour, marker=marker, alpha=0.85, linewidths=0)
        else:
            axes.scatter(place, value, s=26, color=colour, marker="x", linewidths=1.2)
        if _is_winner(run, each):
            axes.scatter(place, value, s=120, facecolors="none", edgecolors=INK, linewidths=1.3)


def _scale(axes: Axes, side: str, options: Sequence[SearchedRange]) -> None:
    """The axis of a range: its ends, and logarithmic where the space is."""
    low, high = min(option["low"] for option in options), max(option["high"] for option in options)
    axis, limits = (axes.xaxis, axes.set_xlim) if side == "x" else (axes.yaxis, axes.set_ylim)
    if is_logarithmic([low, high], declared=all(option["log"] for option in options)):
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
        ratio = (high / low) ** 0.06
        limits(low / ratio, high * ratio)
        plain_numbers(axis)
    else:
        pad = 0.06 * (high - low)
        limits(low - pad, high + pad)


def _scored(each: SearchedArm) -> list[tuple[Run, float]]:
    """The runs that have a score, with it."""
    return [(run, value) for run in each["runs"] if (value := run["score"]) is not None]


def _is_winner(run: Run, each: SearchedArm) -> bool:
    """Whether a run is the best of its search."""
    won = each["searches"][run["search"] - 1]["winner"]
    return won is not None and run["number"] == won["number"]


def _repeat(search: SearchResults, value: object) -> tuple[str, ...]:
    """The cell of a column that only repeated searches have."""
    return (str(value),) if search["searches"] > 1 else ()


def _place(search: SearchResults, run: Winner) -> str:
    """`run 3`, or `run 3 of search 2` if the search was repeated."""
    return f"run {run['number']}" + (f" of search {run['search']}" if search["searches"] > 1 else "")


def _key(value: object) -> str:
    """A choice as a key: a frame of the store may have turned 1 into 1.0."""
    return number(value)


def _position(value: object) -> float:
    """The value of a range on its axis."""
    return float(value) if isinstance(value, int | float | str) else math.nan


def _row(search: SearchResults, arm: str, run: Run, each: SearchedArm) -> tuple[str, ...]:
    scores = (score(run["score"]), score(run["best_so_far"]))
    named = (text(arm, 60), *_repeat(search, run["search"]), str(run["number"]))
    return (*named, spaced(run["status"]), *scores, _values(run, each))


def _values(run: Run | Winner, each: SearchedArm) -> str:
    """The searched hyperparameters of a run; all of them if the space is not known."""
    values = run["hyperparameters"]
    return named_values({name: values[name] for name in each["space"] or values if name in values})


def _won(arms: Mapping[str, SearchedArm], name: str) -> list[str]:
    won = []
    for arm, each in arms.items():
        winners = [part["winner"]["hyperparameters"] for part in each["searches"] if part["winner"]]
        values = [number(values[name]) for values in winners if name in each["space"] and name in values]
        if values:
            won.append(f"{text(arm, 40)} {' and '.join(values)}")
    return won


def _gains(arms: Mapping[str, SearchedArm], search: SearchResults) -> str:
    startup = int(search["startup"] or 0)
    gains = []
    for arm, each in arms.items():
        won = [part["winner"] for part in each["searches"] if part["winner"]]
        if not won:
            gains.append(f"{text(arm, 60)} none")
        for winner in won:
            own = [run for run in each["runs"] if run["search"] == winner["search"]]
            first = [best for run in own[:startup] if (best := run["best_so_far"]) is not None]
            gain = minus(f", {winner['score'] - first[-1]:+z.3f}") if first else ""
            gains.append(f"{text(arm, 60)} {_place(search, winner)}{gain}")
    return "; ".join(gains)


def _proposed(search: SearchResults) -> str:
    names = {"gp": "a Gaussian process", "tpe": "tree-structured Parzen estimators"}
    proposer = names.get(search["sampler"] or "")
    if proposer is None:
        return "All configurations were drawn by chance."
    note = f"Once {search['startup']} runs had finished, {proposer} proposed; before that, chance"
    if search["warm_start"]:
        note += f", after the {search['warm_starts']} best of {text(search['warm_start'], 60)}"
        note += ", which every search tries first" if search["searches"] > 1 else ""
    return f"{note}."
