"""Performance against sensitivity over tasks: what each arm reaches when tuned for each task, and what that gains."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from report.document import Numbers, Picture, Section
from report.drawing.plane import Point, draw_plane
from report.frames import TASK_BLOCK
from report.judged_study import JudgedStudy
from report.judging import own_scores
from report.words import DASH, exact_percent, score, text
from robustness.statistics.plane import normalised, place_of

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


def results(study: JudgedStudy) -> dict[str, ArmPlace] | None:
    """The place of each arm; None with a single task, and where no configuration has a score on every task."""
    frames = study.frames
    if len(frames.tasks) < 2:
        return None
    numbers = sorted(study.trials["configuration"].unique().tolist())
    scores = {arm: _scores(study, arm, numbers) for arm in frames.arms}
    found: dict[str, ArmPlace] = {}
    for arm, values in normalised(scores).items():
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
    return found


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
    points = [
        Point(
            arm,
            entry["sensitivity"],
            entry["tuned"],
            _interval(entry["sensitivity_low"], entry["sensitivity_high"]),
            _interval(entry["tuned_low"], entry["tuned_high"]),
        )
        for arm, entry in found.items()
        if entry["sensitivity"] is not None and entry["tuned"] is not None
    ]
    rows = tuple(
        (
            text(arm, 60),
            _with_interval(entry["tuned"], entry["tuned_low"], entry["tuned_high"]),
            score(entry["common"]),
            _with_interval(entry["sensitivity"], entry["sensitivity_low"], entry["sensitivity_high"]),
            exact_percent(entry["present"]),
        )
        for arm, entry in found.items()
    )
    reading = (
        "Scores are normalised on each task by the 5th and 95th percentiles of all arms. Tuned performance takes the "
        "best configuration of each task; sensitivity is what that gains over the best common configuration, the "
        "lower the better. Intervals resample tasks and configurations; the best of fewer configurations is "
        "worse, so they reach further down."
    )
    columns = ("Arm", "Tuned for each task", "One common configuration", "Sensitivity", "Configurations with a score")
    pictures: tuple[Picture, ...] = ()
    if points:
        description = f"Tuned performance against sensitivity of {len(points)} arms."
        draw = partial(draw_plane, points, analysis.arms)
        pictures = (Picture("plane", "Performance against sensitivity", description, draw),)
    yield Section("plane", "Performance against sensitivity", reading, pictures, Numbers(columns, rows))


def _interval(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return DASH
    return score(value) if low is None else f"{score(value)} ({score(low)} to {score(high)})"
