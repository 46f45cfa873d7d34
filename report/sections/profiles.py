"""Performance profiles: the fraction of configurations better than every score, so no reader has to trust a threshold.

Better is above or, for a metric that is minimised, below.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from report.comparison import by_configuration, side_by_side
from report.document import Numbers, Picture, Section, drawn_of
from report.drawing.axes import legend_above
from report.drawing.style import INK, panel
from report.judged_study import JudgedStudy
from report.sections.thresholds import dashed_lines
from report.watched import NO_BANDS
from report.words import bracketed, capitalised, exact_percent, number, text
from robustness.statistics.clusters import configuration_means
from robustness.statistics.means import mean_test
from robustness.statistics.profiles import above, area, profile_band
from robustness.statistics.proportions import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from report.analysis import Analysis

GRID = 201
"""Thresholds of a profile."""
SHOWN = 12
"""The most round thresholds in the table."""
MOST_DIFFERENCES = 3


class Area(TypedDict):
    """The area under a profile, or between two; without an interval in a watched sweep."""

    area: float
    area_low: float | None
    area_high: float | None


class Profile(Area):
    """The fraction of configurations better than each threshold, with its band; no band in a watched sweep."""

    fraction: list[float]
    low: list[float] | None
    high: list[float] | None


class ProfileDifference(Area):
    """The difference of two profiles at each threshold, first minus second."""

    arms: list[str]
    difference: list[float]
    low: list[float] | None
    high: list[float] | None


class ProfileResults(TypedDict):
    """The profile of each arm and the difference of every two."""

    thresholds: list[float]
    arms: dict[str, Profile]
    differences: list[ProfileDifference]


def results(study: JudgedStudy) -> ProfileResults:
    """The profile of each arm and the difference of every two, with simultaneous bands, and the areas under them."""
    grid = np.linspace(*study.score_range, GRID)
    arms: dict[str, Profile] = {}
    for arm in study.frames.arms:
        if study.paired_scores[arm]:
            band = profile_band(shares_better(study, arm, grid))
            low, high = band.low.tolist(), band.high.tolist()
            arms[arm] = {"fraction": band.middle.tolist(), "low": low, "high": high, **_area(areas(study, arm))}
    differences: list[ProfileDifference] = []
    for first, second in study.frames.compared if study.frames.paired else ():
        pairs = side_by_side(study.planned, study.planned[f"score_{study.frames.rule}"], [first, second])
        if pairs.empty:
            continue
        values = pairs.to_numpy(dtype=float)
        configuration = pairs.index.get_level_values("configuration").to_numpy()
        _, start = np.unique(configuration, return_index=True)
        size = np.diff([*start, len(configuration)])[:, None]
        difference = better(study, values[:, 0], grid) - better(study, values[:, 1], grid)
        band = profile_band(np.add.reduceat(difference, start, axis=0) / size, lowest=-1.0)
        means = by_configuration(pairs.apply(lambda column: _area_of(study, column))).to_numpy(dtype=float)
        differences.append(
            {
                "arms": [first, second],
                "difference": band.middle.tolist(),
                "low": band.low.tolist(),
                "high": band.high.tolist(),
                **_area(means[:, 0] - means[:, 1], lowest=-1.0),
            }
        )
    return {"thresholds": grid.tolist(), "arms": arms, "differences": differences}


def _rescaled(analysis: Analysis) -> str:
    """`rescaled so that 0.5 is 0 and 1 is 1`: the worse and the better end of the range of thresholds."""
    ends = analysis.study.score_range
    worst, best = ends[::-1] if analysis.goal.minimizes else ends
    return f"rescaled so that {number(_three_digits(worst))} becomes 0 and {number(_three_digits(best))} becomes 1"


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")


def _pooled(analysis: Analysis) -> Iterator[str]:
    """That a threshold does not mean the same on every task."""
    if len(analysis.frames.tasks) > 1:
        yield (
            "Profiles pool the scores of all tasks as they are. Tasks differ in how hard they are and in what guessing "
            "achieves, so one threshold may be easy on one task and out of reach on another."
        )


def areas(study: JudgedStudy, arm: str) -> NDArray[np.float64]:
    """The area under the profile of each configuration of an arm, over complete pairs."""
    groups = study.paired_scores[arm]
    owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return configuration_means(_area_of(study, np.concatenate([np.empty(0), *groups])), owners)


def shares_better(study: JudgedStudy, arm: str, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of the replicates of each configuration of an arm better than thresholds [g]: [configurations, g]."""
    groups = study.paired_scores[arm]
    sizes = np.array([len(group) for group in groups])
    above = better(study, np.concatenate(groups), grid)
    shares: NDArray[np.float64] = np.add.reduceat(above, np.cumsum(sizes) - sizes, axis=0) / sizes[:, None]
    return shares


def better(study: JudgedStudy, scores: ArrayLike, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 where scores [n] are better than thresholds [g], else 0: [n, g]."""
    goal = study.frames.goal
    return above(goal.oriented(np.asarray(scores, dtype=float)), goal.oriented(grid))


def _area_of(study: JudgedStudy, scores: ArrayLike) -> NDArray[np.float64]:
    """The contribution of each score [n] to the area under the profile, 0 at the worse end of the range."""
    goal = study.frames.goal
    low, high = sorted(goal.oriented(end) for end in study.score_range)
    return area(goal.oriented(np.asarray(scores, dtype=float)), low, high)


def _area(areas: NDArray[np.float64], lowest: float = 0.0) -> Area:
    low, high = within_range(mean_test(areas).interval, lowest)
    return {"area": float(areas.mean()), "area_low": low, "area_high": high}


def within_range(interval: Interval, lowest: float = 0.0) -> tuple[float, float]:
    """The ends of an interval of an area, clipped to the values that it can have, `lowest` to 1; NaN without one."""
    low, high = np.clip([interval.low, interval.high], lowest, 1.0).tolist()
    return low, high


def sections(analysis: Analysis) -> Iterator[Section]:
    """Each arm's profile and the difference of every two; none without a complete pair."""
    profiles = analysis.results["profiles"]
    arms = profiles["arms"]
    if not arms:
        return
    grid = np.array(profiles["thresholds"])
    beyond = analysis.beyond
    banded = analysis.study.sample.watch is None
    under = ", ".join(
        f"{text(arm, 60)} {bracketed(entry['area'], entry['area_low'], entry['area_high'])}"
        for arm, entry in arms.items()
    )
    pictures = [
        Picture(
            "profiles",
            f"{capitalised(beyond)} every threshold",
            f"The fraction of configurations whose {analysis.metric_words} is {beyond} each threshold, one "
            f"{'rising' if analysis.goal.minimizes else 'falling'} line for each arm"
            f"{' with a 95 % band' if banded else ''}. Areas: {under}.",
            partial(_draw, analysis, grid, arms),
        )
    ]
    differences = [entry for entry in profiles["differences"] if entry["arms"][0] in arms]
    for place, entry in enumerate(differences[:MOST_DIFFERENCES]):
        first, second = entry["arms"]
        pictures.append(
            Picture(
                f"profiles-difference-{place}",
                f"{text(second)} minus {text(first)}",
                "The difference of the two profiles at each threshold"
                + (f", with a 95 % band that holds at all of them: {_ahead(entry, grid)}." if banded else "."),
                partial(_draw_difference, analysis, grid, entry),
            )
        )
    listed = _listed(analysis, grid[0], grid[-1])
    shares = [_fractions(analysis.study, arm, listed) for arm in arms]
    rows = tuple(
        (number(threshold), *(exact_percent(share[place]) for share in shares))
        for place, threshold in enumerate(listed.tolist())
    )
    columns = ("Threshold", *(f"{text(arm, 40)}: {beyond} it" for arm in arms))
    reading = f"The area under the profile is the mean {analysis.metric_words}, {_rescaled(analysis)}: {under}"
    reading += f"; {_ahead(differences[0], grid)}." if len(differences) == 1 and banded else "."
    notes = (
        f"Bands are simultaneous: with 95 % confidence the whole line lies inside. {_beside_the_verdict(analysis)}"
        if banded
        else NO_BANDS,
        f"{dashed_lines(analysis)}{' Areas have 95 % intervals in brackets.' if banded else ''}".strip(),
        *drawn_of(MOST_DIFFERENCES, len(differences), "differences of two profiles", "the JSON"),
        *_pooled(analysis),
    )
    yield Section(
        "profiles", f"{capitalised(beyond)} every threshold", reading, tuple(pictures), Numbers(columns, rows), notes
    )


def _listed(analysis: Analysis, low: float, high: float) -> NDArray[np.float64]:
    """Round thresholds between the ends of the range, and the study's own."""
    power = 10.0 ** math.floor(math.log10((high - low) / SHOWN))
    step = next(power * each for each in (1, 2, 5, 10) if (high - low) / (power * each) <= SHOWN)
    multiples = np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1) * step
    own = [analysis.nothing, analysis.good] if analysis.frames.has_thresholds else []
    every = np.concatenate([multiples, [level for level in own if low < level < high]])
    return np.unique(np.round(every, 10))


def _fractions(study: JudgedStudy, arm: str, thresholds: NDArray[np.float64]) -> list[float]:
    """The fraction of an arm's configurations better than each threshold."""
    fractions: list[float] = shares_better(study, arm, thresholds).mean(axis=0).tolist()
    return fractions


def _beside_the_verdict(analysis: Analysis) -> str:
    """How the bands differ from the test of the verdict."""
    if analysis.frames.has_thresholds:
        return (
            "That is stricter than the test of the verdict, which is at one threshold, so a band may include 0 "
            "although the verdict's test is significant."
        )
    return "The verdict compares means, which is another test: either may be significant where the other is not."


def _ahead(entry: ProfileDifference, grid: NDArray[np.float64]) -> str:
    """The thresholds at which one profile is above with 95 % confidence the other."""
    first, second = (text(arm, 60) for arm in entry["arms"])
    clauses = []
    for name, sure in ((first, np.array(entry["low"]) > 0), (second, np.array(entry["high"]) < 0)):
        if sure.any():
            places = np.flatnonzero(sure)
            limits = f"{grid[places[0]]:.2f} to {grid[places[-1]]:.2f}"
            clauses.append(f"{name} is ahead at thresholds from {limits}, with 95 % confidence in all of them together")
    words = (
        " and ".join(clauses)
        or f"neither {first} nor {second} is ahead at any, with 95 % confidence in all of them together"
    )
    return f"tested at all thresholds together, {words}"


def _draw(analysis: Analysis, grid: NDArray[np.float64], arms: Mapping[str, Profile]) -> Figure:
    figure, axes = panel()
    for arm, entry in arms.items():
        colour = analysis.arms.colour(arm)
        middle = 100 * np.array(entry["fraction"])
        if entry["low"] is not None:
            low, high = 100 * np.array(entry["low"]), 100 * np.array(entry["high"])
            # The more arms, the lighter: where bands of several overlap, their lines stay apart.
            strength = 0.32 / max(2, len(arms))
            axes.fill_between(grid, low, high, color=colour, alpha=strength, linewidth=0, step="mid")
        line: dict[str, Any] = {"linestyle": analysis.arms.dash(arm), "linewidth": 1.8, "label": text(arm, 40)}
        axes.step(grid, middle, where="mid", color=colour, **line)
    _own_thresholds(analysis, axes)
    axes.set_xlim(grid[0], grid[-1])
    axes.set_ylim(-2, 102)
    axes.set_xlabel(f"threshold of {analysis.metric_words}")
    axes.set_ylabel(f"% of configurations {analysis.beyond} it")
    # At the better end all lines are zero, so names at their ends would coincide.
    legend_above(figure)
    return figure


def _own_thresholds(analysis: Analysis, axes: Axes) -> None:
    for level in (analysis.nothing, analysis.good) if analysis.frames.has_thresholds else ():
        axes.axvline(level, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))


def _draw_difference(analysis: Analysis, grid: NDArray[np.float64], entry: ProfileDifference) -> Figure:
    figure, axes = panel()
    first, second = entry["arms"]
    middle = -100 * np.array(entry["difference"])
    # Seen as second minus first, the ends change places.
    low = middle if entry["high"] is None else -100 * np.array(entry["high"])
    high = middle if entry["low"] is None else -100 * np.array(entry["low"])
    axes.axhline(0, color=INK, linewidth=1)
    if entry["low"] is not None:
        axes.fill_between(grid, low, high, color=INK, alpha=0.14, linewidth=0, step="mid")
    axes.step(grid, middle, where="mid", color=INK, linewidth=1.6)
    reach = max(5.0, 1.08 * float(np.abs([low, high]).max()))
    axes.axhspan(0, reach, color=analysis.arms.colour(second), alpha=0.07, linewidth=0)
    axes.axhspan(-reach, 0, color=analysis.arms.colour(first), alpha=0.07, linewidth=0)
    # Outside the axes, where no line goes through the words.
    place: dict[str, Any] = {"transform": axes.transAxes, "fontsize": 9.5, "style": "italic", "va": "bottom"}
    axes.text(0.0, 1.02, f"above 0: {text(second, 40)} ahead\nbelow 0: {text(first, 40)} ahead", **place)
    _own_thresholds(analysis, axes)
    axes.set_xlim(grid[0], grid[-1])
    axes.set_ylim(-reach, reach)
    axes.set_xlabel(f"threshold of {analysis.metric_words}")
    axes.set_ylabel("difference in percentage points")
    return figure
