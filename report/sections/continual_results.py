"""What a study of continual learning shows: the accuracy on every task after each one, for each arm at its best cell.

A cell is a configuration. Each arm's best has the highest mean validation accuracy over all tasks after the last one,
on the replicates that every cell has; where it was trained on more of them, its figures are means over all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from report.frames import KEY, StudyFrames
from robustness.statistics.means import mean_with_error

TRAINABLE = "continual"
CHOSEN_BY = "validation_accuracy"
TOLD = ("validation_accuracy", "test_accuracy", "forgetting", "first_task")
"""Of each cell after the last task; `first_task` is the test accuracy on the first."""
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")


def continual(frames: StudyFrames) -> Mapping[str, Any] | None:
    """The results of a study of continual learning; None for any other."""
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


def _arm(frames: StudyFrames, ended: pd.DataFrame, tasks: int) -> dict[str, Any] | None:
    """An arm's cells, and its best one in full; None if no trial has ended."""
    if ended.empty:
        return None
    common = ended[ended["replicate"] < frames.replicates]
    scores = common.groupby("configuration")[CHOSEN_BY].mean()
    best = int(scores.index.to_numpy()[scores.to_numpy().argmax()])  # the lowest of equal ones
    cells = []
    for configuration, rows in common.groupby("configuration"):
        found: dict[str, Any] = {"configuration": int(str(configuration)), **_drawn(frames, int(str(configuration)))}
        cells.append(found | {name: float(rows[name].mean()) for name in TOLD} | {"trials": len(rows)})
    own = ended[ended["configuration"] == best]
    return {
        "configuration": best,
        **_drawn(frames, best),
        "trials": len(own),
        **{name: mean_with_error(own[name].to_numpy(dtype=float)) for name in TOLD},
        "after": _after(frames, own, tasks),
        "cells": cells,
    }


def _drawn(frames: StudyFrames, configuration: int) -> dict[str, Any]:
    row = frames.configurations.loc[configuration]
    return {"hyperparameters": {name: row[name] for name in frames.varied if not pd.isna(row[name])}}


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


def cell_words(hyperparameters: Mapping[str, Any]) -> str:
    """`epochs 20, batch size 1024`."""
    values = {
        name: f"{value:g}" if isinstance(value, int | float) else value for name, value in hyperparameters.items()
    }
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values.items())


def percent(found: Mapping[str, Any]) -> str:
    """`97.9 %`, with its standard error where there is one."""
    error = found["standard_error"]
    return f"{100 * found['mean']:.1f}{'' if error is None else f' ± {100 * error:.1f}'} %"


def _sentences(arms: Mapping[str, Mapping[str, Any] | None], tasks: int) -> list[str]:
    known = {arm: found for arm, found in arms.items() if found is not None}
    if not known:
        return ["No trial has learned all of its tasks yet."]
    ordinal = ORDINALS[tasks] if tasks < len(ORDINALS) else f"{tasks}th"
    means = ", ".join(
        f"{arm} {percent(found['test_accuracy'])} ({cell_words(found['hyperparameters']) or 'the only cell'})"
        for arm, found in known.items()
    )
    first = ", ".join(f"{arm} {percent(found['first_task'])}" for arm, found in known.items())
    lost = ", ".join(f"{arm} {100 * found['forgetting']['mean']:.1f}" for arm, found in known.items())
    return [
        f"Test accuracy after the {ordinal} task, mean over all tasks, each arm at its best cell: {means}.",
        f"The first task's accuracy by then: {first}. Points lost on earlier tasks since their best: {lost}.",
    ]
