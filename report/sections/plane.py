"""Performance against sensitivity over tasks: what each arm reaches when tuned for each task, and what that gains."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from report.comparison import turned
from report.document import Numbers, Picture, Section
from report.drawing.plane import Point, draw_plane
from report.frames import TASK_BLOCK
from report.judged_study import JudgedStudy
from report.judging import own_scores
from report.records.estimates import Difference, known
from report.words import DASH, bracketed, exact_percent, score, signed_to, text
from robustness.statistics.plane import interval_of, normalised, place_of, places_drawn

if TYPE_CHECKING:
    from report.analysis import Analysis


class ArmPlace(TypedDict):
    """An arm on the plane; `low` and `high` are the ends of 95 % bootstrap intervals."""

    tuned: float | None
    tuned_low: float | None
    tuned_high: float | None
    common: float | None
    common_configuration: int | None
    sensitivity: float | None
    sensitivity_low: float | None
    sensitivity_high: float | None
    present: float


class PlaneDifference(Difference):
    """The sensitivity of the first arm less that of the second."""

    arms: list[str]


class PlaneResults(TypedDict):
    """The place of each arm, and the differences of arms on the same configurations."""

    arms: dict[str, ArmPlace]
    differences: list[PlaneDifference]


def results(study: JudgedStudy) -> PlaneResults | None:
    """The places; None with a single task, and where no configuration has a score on every task."""
    frames = study.frames
    if len(frames.tasks) < 2:
        return None
    numbers = sorted(study.trials["configuration"].unique().tolist())
    scores = {arm: _scores(study, arm, numbers) for arm in frames.arms}
    found: dict[str, ArmPlace] = {}
    comparable = normalised(scores)
    for arm, values in comparable.items():
        place = place_of(values)
        if place.sensitivity is None:
            return None
        tuned, sensitive = place.tuned_interval or (None, None), place.sensitivity_interval or (None, None)
        chosen = place.common_configuration
        planned = study.planned[study.planned["arm"] == arm]
        cells = len(
            planned.assign(task=planned["replicate"] // TASK_BLOCK)[["configuration", "task"]].drop_duplicates()
        )
        found[arm] = {
            "tuned": place.tuned,
            "tuned_low": tuned[0],
            "tuned_high": tuned[1],
            "common": place.common,
            "common_configuration": None if chosen is None else numbers[chosen],
            "sensitivity": place.sensitivity,
            "sensitivity_low": sensitive[0],
            "sensitivity_high": sensitive[1],
            "present": float(np.isfinite(values).sum() / cells),
        }
    return {"arms": found, "differences": _differences(found, comparable, frames.compared) if frames.paired else []}


def _differences(
    places: dict[str, ArmPlace], scores: dict[str, NDArray[np.float64]], compared: list[tuple[str, str]]
) -> list[PlaneDifference]:
    """Of every comparison, from the same bootstrap samples of tasks and configurations."""
    drawn = {arm: places_drawn(values)[:, 1] for arm, values in scores.items()}
    differences: list[PlaneDifference] = []
    for first, second in compared:
        ends = interval_of(drawn[first] - drawn[second])
        differences.append(
            {
                "arms": [first, second],
                "difference": known(places[first]["sensitivity"]) - known(places[second]["sensitivity"]),
                "low": None if ends is None else ends[0],
                "high": None if ends is None else ends[1],
                "interval": "none: a single task or configuration" if ends is None else "percentile bootstrap",
            }
        )
    return differences


def _scores(study: JudgedStudy, arm: str, numbers: list[int]) -> NDArray[np.float64]:
    """The mean score over seeds of each configuration on each task, more is better; NaN where a run failed."""
    own = study.planned[(study.planned["arm"] == arm) & study.planned["counted"]]
    values = study.frames.goal.oriented(own_scores(own, study.frames.rule))
    table = values.groupby([own["configuration"], own["replicate"] // TASK_BLOCK]).mean().unstack()
    places = range(len(study.frames.tasks))
    scores: NDArray[np.float64] = table.reindex(index=numbers, columns=places).to_numpy(dtype=float)
    return scores


def sections(analysis: Analysis) -> Iterator[Section]:
    """The plane and its numbers."""
    found = analysis.results.get("plane")
    if not found:
        return
    arms = found["arms"]
    points = [
        Point(
            arm,
            entry["sensitivity"],
            entry["tuned"],
            _interval(entry["sensitivity_low"], entry["sensitivity_high"]),
            _interval(entry["tuned_low"], entry["tuned_high"]),
        )
        for arm, entry in arms.items()
        if entry["sensitivity"] is not None and entry["tuned"] is not None
    ]
    rows = [
        (
            text(arm, 60),
            _with_interval(entry["tuned"], entry["tuned_low"], entry["tuned_high"]),
            score(entry["common"]),
            _with_interval(entry["sensitivity"], entry["sensitivity_low"], entry["sensitivity_high"]),
            exact_percent(entry["present"]),
        )
        for arm, entry in arms.items()
    ]
    for entry in found["differences"]:
        cell = bracketed(*turned(entry), signed_to(4))
        rows.append((_named(entry), "", "", cell, ""))
    thresholds = analysis.frames.has_thresholds
    other = "the share of configurations that fail" if thresholds else "mean scores over all configurations"
    notes = (
        "Upwards: tuned performance, the mean over tasks of an arm's best score on each. To the right: sensitivity, by "
        "how much that mean falls if the arm must use one configuration for all tasks, the best common one.",
        f"The verdict compares {other}; this sensitivity is the loss from a common configuration (Adkins et al. 2024). "
        "The two may disagree.",
        "Scores are normalised on each task: 0 and 1 are the 5th and 95th percentiles of all arms' scores.",
        "Intervals resample tasks and configurations, for a difference the same of both arms, and are not corrected "
        "for the number of comparisons. A resample of the configurations never has a better best one, so intervals "
        "may lie mostly on one side of the estimate.",
    )
    columns = ("Arm", "Tuned for each task", "One common configuration", "Sensitivity", "Configurations with a score")
    pictures: tuple[Picture, ...] = ()
    if points:
        description = f"Tuned performance against sensitivity of {len(points)} arms."
        draw = partial(draw_plane, points, analysis.arms)
        pictures = (Picture("plane", "Performance against sensitivity", description, draw),)
    numbers = Numbers(columns, tuple(rows))
    yield Section(
        "plane", "Performance against sensitivity", _reading(arms, found["differences"]), pictures, numbers, notes
    )


def _reading(arms: dict[str, ArmPlace], differences: list[PlaneDifference]) -> str:
    """Each arm's loss from a common configuration, and whose differences exclude 0."""
    losses = ", ".join(
        f"{text(arm, 60)} {_with_interval(entry['sensitivity'], entry['sensitivity_low'], entry['sensitivity_high'])}"
        for arm, entry in arms.items()
    )
    reading = f"Sensitivity, the loss from one common configuration for all tasks: {losses}."
    tested = [entry for entry in differences if entry["low"] is not None and entry["high"] is not None]
    apart = [entry for entry in tested if known(entry["low"]) > 0 or known(entry["high"]) < 0]
    if apart:
        listed = "; ".join(f"{_named(entry)} {bracketed(*turned(entry), signed_to(4))}" for entry in apart)
        return f"{reading} Differences whose 95 % interval excludes 0: {listed}."
    if tested:
        every = (
            "the 95 % interval of the difference includes"
            if len(tested) == 1
            else "every 95 % interval of a difference includes"
        )
        return f"{reading} No two arms are shown to differ: {every} 0."
    return reading


def _named(entry: PlaneDifference) -> str:
    return f"{text(entry['arms'][1], 40)} minus {text(entry['arms'][0], 40)}"


def _interval(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return DASH
    return score(value) if low is None else f"{score(value)} ({score(low)} to {score(high)})"
