"""The tasks of a study: the data sets or environments on which every configuration is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from robustness.errors import StudyFileError, shown
from robustness.study.arms import check_label


@dataclass(frozen=True)
class Task:
    """One of the `tasks` of a study."""

    label: str
    """Its name in the store and the report; empty for the single `task` of a study."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """`{"name": ..., ...}`, which a trial gets as `trial.task`."""


def read_tasks(entries: Sequence[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Return the tasks of a study, each listed as `{name: cifar, ...}`, with a `label` if two share a name."""
    tasks: dict[str, Task] = {}
    for position, entry in enumerate(entries):
        place = f"tasks.{position}"
        if "name" not in entry:
            raise StudyFileError(f"{place}.name: is missing, found {shown(dict(entry))}")
        for key in ("name", "label"):
            if key in entry and not isinstance(entry[key], str):
                raise StudyFileError(f"{place}.{key}: must be text, found {shown(entry[key])}")
        # The label of a user's own `package.module:name` is `name`.
        label = str(entry.get("label", entry["name"].rpartition(":")[2]))
        check_label(label, f"{place}.{'label' if 'label' in entry else 'name'}")
        if label in tasks:
            raise StudyFileError(f"{place}: the task {shown(label)} appears twice; give it a label of its own")
        tasks[label] = Task(label, {key: value for key, value in entry.items() if key != "label"})
    return tuple(tasks.values())
