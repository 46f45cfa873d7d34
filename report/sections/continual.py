"""Continual learning: the accuracy on every task after each one, for each arm at its best cell, and the whole grid.

A cell is a configuration. Each arm's best has the highest mean validation accuracy over all tasks after the last one,
on the replicates that every cell has; where it was trained on more of them, its figures are means over all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

import numpy as np
import pandas as pd

from report.document import Numbers, Picture, Section
from report.drawing.axes import label_ends
from report.drawing.heat_map import heat_map
from report.drawing.style import panel
from report.frames import KEY, StudyFrames
from report.judged_study import JudgedStudy
from report.sections.hyperparameters import values_of
from report.words import DASH, cell_words, number, percent, percent_with_error, text
from robustness.statistics.means import MeanWithError, mean_with_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

TRAINABLE = "continual"
CHOSEN_BY = "validation_accuracy"
Measure: TypeAlias = Literal["validation_accuracy", "test_accuracy", "forgetting", "first_task"]
MEASURES: tuple[Measure, ...] = ("validation_accuracy", "test_accuracy", "forgetting", "first_task")
"""Measured for each cell after the last task; `first_task` is the test accuracy on the first."""
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")


class Cell(TypedDict):
    """A configuration, with the mean of each measure over its runs."""

    configuration: int
    hyperparameters: Mapping[str, object]
    validation_accuracy: float
    test_accuracy: float
    forgetting: float
    first_task: float
    trials: int


class ContinualArm(TypedDict):
    """An arm at its best cell, and all of its cells."""

    configuration: int
    hyperparameters: Mapping[str, object]
    trials: int
    validation_accuracy: MeanWithError
    test_accuracy: MeanWithError
    forgetting: MeanWithError
    first_task: MeanWithError
    after: list[list[float | None]]
    cells: list[Cell]


class ContinualResults(TypedDict):
    """`continual` of the JSON."""

    sentences: list[str]
    alone: bool
    tasks: int
    heads: int
    chosen_by: str
    arms: dict[str, ContinualArm | None]


def results(study: JudgedStudy) -> ContinualResults | None:
    """The results of a study of continual learning; None for any other."""
    frames = study.frames
    if frames.document.get("trainable") != TRAINABLE:
        return None
    tasks = int(frames.document["task"]["tasks"])
    ended = _ended(frames, tasks)
    arms = {arm: _arm(frames, ended[ended["arm"] == arm], tasks) for arm in frames.arms}
    return {
        "sentences": _sentences(arms, tasks),
        "alone": True,
        "tasks": tasks,
        "heads": int(frames.document["model"].get("heads", 1)),
        "chosen_by": CHOSEN_BY,
        "arms": arms,
    }


def _ended(frames: StudyFrames, tasks: int) -> pd.DataFrame:
    """The last task's row of every trial that learned all of them, with the accuracy on the first."""
    finished = frames.trials.loc[frames.trials["status"] == "finished", KEY]
    if "test_accuracy_task_1" not in frames.epochs or CHOSEN_BY not in frames.epochs:
        return finished.iloc[:0]
    last = frames.epochs[frames.epochs["epoch"] == tasks].merge(finished, on=KEY)
    if "forgetting" not in last:
        # A single task has none before it.
        last = last.assign(forgetting=0.0)
    return last.assign(first_task=last["test_accuracy_task_1"])


def _arm(frames: StudyFrames, ended: pd.DataFrame, tasks: int) -> ContinualArm | None:
    """An arm's cells, and its best one in full; None if no trial has ended."""
    if ended.empty:
        return None
    common = ended[ended["replicate"] < frames.replicates]
    scores = common.groupby("configuration")[CHOSEN_BY].mean()
    best = int(scores.index.to_numpy()[scores.to_numpy().argmax()])  # the lowest of equal ones
    own = ended[ended["configuration"] == best]
    return {
        "configuration": best,
        "hyperparameters": values_of(frames, best, frames.varied),
        "trials": len(own),
        "validation_accuracy": _mean(own, "validation_accuracy"),
        "test_accuracy": _mean(own, "test_accuracy"),
        "forgetting": _mean(own, "forgetting"),
        "first_task": _mean(own, "first_task"),
        "after": _after(frames, own, tasks),
        "cells": [_cell(frames, int(str(number)), rows) for number, rows in common.groupby("configuration")],
    }


def _cell(frames: StudyFrames, configuration: int, rows: pd.DataFrame) -> Cell:
    return {
        "configuration": configuration,
        "hyperparameters": values_of(frames, configuration, frames.varied),
        "validation_accuracy": float(rows["validation_accuracy"].mean()),
        "test_accuracy": float(rows["test_accuracy"].mean()),
        "forgetting": float(rows["forgetting"].mean()),
        "first_task": float(rows["first_task"].mean()),
        "trials": len(rows),
    }


def _mean(rows: pd.DataFrame, measure: Measure) -> MeanWithError:
    return mean_with_error(rows[measure].to_numpy(dtype=float))


def _after(frames: StudyFrames, own: pd.DataFrame, tasks: int) -> list[list[float | None]]:
    """The mean test accuracy [after task k][on task j]; None for tasks that were still to come."""
    rows = frames.epochs.merge(own[KEY], on=KEY)
    means = rows.groupby("epoch").mean(numeric_only=True)
    return [
        [float(means.loc[after, f"test_accuracy_task_{task}"]) if task <= after else None for task in _count(tasks)]  # type: ignore[arg-type]
        for after in _count(tasks)
    ]


def _count(tasks: int) -> range:
    return range(1, tasks + 1)


def _percent(entry: MeanWithError) -> str:
    return percent_with_error(entry["mean"], entry["standard_error"])


def _sentences(arms: Mapping[str, ContinualArm | None], tasks: int) -> list[str]:
    known = {arm: entry for arm, entry in arms.items() if entry is not None}
    if not known:
        return ["No trial has learned all of its tasks yet."]
    ordinal = ORDINALS[tasks] if tasks < len(ORDINALS) else f"{tasks}th"
    means = ", ".join(
        f"{arm} {_percent(entry['test_accuracy'])} ({cell_words(entry['hyperparameters']) or 'the only cell'})"
        for arm, entry in known.items()
    )
    first = ", ".join(f"{arm} {_percent(entry['first_task'])}" for arm, entry in known.items())
    lost = ", ".join(f"{arm} {percent(entry['forgetting']['mean'], 1)}" for arm, entry in known.items())
    return [
        f"Test accuracy after the {ordinal} task, mean over all tasks, each arm at its best cell: {means}.",
        f"The first task's accuracy by then: {first}. Points lost on earlier tasks since their best: {lost}.",
    ]


WORDS: dict[Measure, str] = {
    "validation_accuracy": "Validation accuracy",
    "test_accuracy": "Test accuracy",
    "forgetting": "Forgetting",
    "first_task": "First task",
}


def sections(analysis: Analysis) -> Iterator[Section]:
    """Each arm at its best cell, and every cell of the grid."""
    yield from _best_cells(analysis)
    yield from _grid(analysis)


def _best_cells(analysis: Analysis) -> Iterator[Section]:
    """The paper's figure, and a triangle of accuracies for each arm."""
    arms = _arms(analysis)
    if not arms:
        return
    continual: ContinualResults = analysis.results["continual"]
    last = "; ".join(f"{text(arm, 60)} {_percentages(entry['after'][-1])}" for arm, entry in arms.items())
    pictures = [
        Picture(
            "continual-last",
            "The last network on every task",
            f"Test accuracy on tasks 1 to {continual['tasks']} after the last of them, a line for each arm: {last}.",
            partial(_draw_last, analysis, arms),
        )
    ]
    for place, (arm, entry) in enumerate(arms.items()):
        kept = _percentages([row[0] for row in entry["after"]])
        pictures.append(
            Picture(
                f"continual-after-{place}",
                f"{text(arm)}: every task after each one",
                f"Test accuracy of {text(arm, 60)} on each task after each task; on the first one: {kept}.",
                partial(_draw_after, analysis.arms.colour(arm), entry["after"]),
            )
        )
    rows = [
        (
            text(arm, 60),
            cell_words(entry["hyperparameters"]) or DASH,
            str(entry["trials"]),
            *(_percent(entry[name]) for name in MEASURES),
        )
        for arm, entry in arms.items()
    ]
    first = ", ".join(f"{text(arm, 60)} {_percent(entry['first_task'])}" for arm, entry in arms.items())
    reading = f"After the last task the first one is right so often: {first}. Dotted lines are means over the tasks."
    columns = ("Arm", "Best cell", "Runs", *(WORDS[name] for name in MEASURES))
    notes = (
        "The best cell has the highest validation accuracy, mean over all tasks after the last one.",
        "Forgetting is the mean loss of test accuracy since the best that a task had before the last one was learned.",
    )
    yield Section("continual", "Task by task", reading, tuple(pictures), Numbers(columns, tuple(rows)), notes)


def _grid(analysis: Analysis) -> Iterator[Section]:
    """Every cell, as a table; none where there is only one."""
    arms = _arms(analysis)
    if not any(len(entry["cells"]) > 1 for entry in arms.values()):
        return
    rows = [
        (
            text(arm, 60),
            cell_words(cell["hyperparameters"]),
            *(f"{percent(cell[name], 1)}\u00a0%" for name in MEASURES),
            "chosen" if cell["configuration"] == entry["configuration"] else "",
        )
        for arm, entry in arms.items()
        for cell in entry["cells"]
    ]
    spread = "; ".join(f"{text(arm, 60)} {_range(entry)}" for arm, entry in arms.items())
    reading = f"Over the cells of the grid the mean test accuracy runs from the lowest to the highest: {spread}."
    columns = ("Arm", "Cell", *(WORDS[name] for name in MEASURES), "")
    yield Section("continual-grid", "The grid", reading, (), Numbers(columns, tuple(rows)))


def _arms(analysis: Analysis) -> dict[str, ContinualArm]:
    """The arms that have something to show."""
    continual: ContinualResults | None = analysis.results.get("continual")
    return {arm: entry for arm, entry in (continual["arms"].items() if continual else ()) if entry is not None}


def _percentages(shares: list[float | None]) -> str:
    return ", ".join(f"{percent(share, 1)} %" for share in shares if share is not None)


def _range(entry: ContinualArm) -> str:
    values = [cell["test_accuracy"] for cell in entry["cells"]]
    return f"{percent(min(values), 1)} to {percent(max(values), 1)} %"


def _draw_last(analysis: Analysis, arms: Mapping[str, ContinualArm]) -> Figure:
    figure, axes = panel()
    ends = {}
    for arm, entry in arms.items():
        values = 100 * np.array(entry["after"][-1], dtype=float)
        places = np.arange(1, len(values) + 1)
        colour, style = analysis.arms.colour(arm), analysis.arms.dash(arm)
        axes.plot(places, values, color=colour, linestyle=style, marker=analysis.arms.marker(arm), linewidth=1.6)
        axes.axhline(values.mean(), color=colour, linestyle=(0, (1.5, 2.5)), linewidth=1.2)
        ends[arm] = (float(places[-1]), float(values[-1]))
    axes.set_xticks(places, [str(place) for place in places])
    axes.set_xlim(0.8, len(places) + 0.15)
    axes.set_xlabel("task")
    axes.set_ylabel("test accuracy after the last task, %")
    label_ends(axes, ends, analysis.arms)
    return figure


def _draw_after(colour: str, after: list[list[float | None]]) -> Figure:
    """A triangle: tasks downwards, time to the right."""
    values = np.array(after, dtype=float).T
    low = min(0.5, float(np.nanmin(values)))
    names = [number(place) for place in range(1, len(values) + 1)]
    labels = [["" if np.isnan(value) else percent(value, 1) for value in row] for row in values]
    return heat_map(values, labels, (names, names), ("test accuracy on task, %", "after task"), colour, (low, 1.0))
