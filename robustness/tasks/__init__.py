"""The tasks: where images and labels come from.

A task is a module with a pydantic model `Options` (`extra="forbid"`) and a function `load(options) -> TaskData`. It may
also have `check(options)`, which raises `TaskError` if something it needs is missing, and `image_size(options)`, which
returns the side of an image in pixels or None; neither reads the data. Bundled tasks go by their names in `TASKS`,
those of installed packages by the names of their entry points (group `robustness.tasks`), and a user's own by
`package.module`, or `module` if it lies beside the study file.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from robustness.errors import StudyFileError, TaskError, unknown_name
from robustness.plugins import import_users_module, installed, load_installed
from robustness.tasks.data import Split, TaskData
from robustness.validation import read_options

__all__ = [
    "TASKS",
    "Split",
    "TaskData",
    "check_task",
    "fresh_task",
    "is_registered",
    "is_task",
    "load_task",
    "provide_task",
    "task_image_size",
    "task_names",
]

TASKS = {
    "npz": "robustness.tasks.npz",
    "retinopathy": "robustness.tasks.fundus.retinopathy",
    "synthetic_fundus": "robustness.tasks.fundus.synthetic",
}
"""The bundled tasks and the module of each."""

_loaded: dict[str, TaskData] = {}


def task_names() -> list[str]:
    """The names of bundled tasks and of those of installed packages."""
    return [*TASKS, *(name for name in installed("robustness.tasks") if name not in TASKS)]


def is_registered(name: object) -> bool:
    """Whether the name is that of a bundled task or of one that an installed package offers."""
    return name in TASKS or name in installed("robustness.tasks")


def is_task(name: str) -> bool:
    """Whether the name is a registered task or a user's own module, which may still fail to load."""
    if is_registered(name) or "." in name:
        return True
    try:
        return name.isidentifier() and importlib.util.find_spec(name) is not None
    except ValueError:  # A module that is loaded without a spec, such as `__main__`.
        return False


def check_task(options: Mapping[str, Any], needs_data: bool = True) -> None:
    """Raise `TaskError` unless the task exists, its options are valid and its files are present; reads no data.

    With `needs_data=False` only the name and the options are checked, since the data may be on another machine.
    """
    task = _find(options)
    read = _read(task, options)
    if needs_data and hasattr(task, "check"):
        task.check(read)


def load_task(options: Mapping[str, Any]) -> TaskData:
    """Return the data of the task `{"name": ..., **options}`; loaded once per process."""
    key = _key(options)
    if key not in _loaded:
        _loaded[key] = fresh_task(options)
    return _loaded[key]


def fresh_task(options: Mapping[str, Any]) -> TaskData:
    """Return the data of a task, loaded anew."""
    task = _find(options)
    data: TaskData = task.load(_read(task, options))
    return data


def provide_task(options: Mapping[str, Any], data: TaskData) -> None:
    """Make `load_task(options)` return this data in this process, for example arrays in shared memory."""
    _loaded[_key(options)] = data


def task_image_size(options: Mapping[str, Any]) -> int | None:
    """Return the side of the task's images in pixels, None if only loading would tell; raises as `check_task` does."""
    task = _find(options)
    read = _read(task, options)
    if not hasattr(task, "image_size"):
        return None
    size: int | None = task.image_size(read)
    return size


def _key(options: Mapping[str, Any]) -> str:
    return json.dumps(dict(options), sort_keys=True, default=str)


def _find(options: Mapping[str, Any]) -> ModuleType:
    name = options.get("name")
    if not isinstance(name, str) or not name:
        raise TaskError(f"task: needs a name: one of {', '.join(task_names())}, or your own module")
    if not is_task(name):
        raise TaskError(f"task: {unknown_name('task', name, task_names())}")
    try:
        if name not in TASKS and name in installed("robustness.tasks"):
            task: ModuleType = load_installed("robustness.tasks", name, "task")
        else:
            task = import_users_module(TASKS.get(name, name), "task")
    except StudyFileError as error:
        raise TaskError(str(error)) from error
    for needed in ("Options", "load"):
        if not hasattr(task, needed):
            raise TaskError(f"task: the module {name!r} has no {needed!r}")
    return task


def _read(task: ModuleType, options: Mapping[str, Any]) -> Any:
    without_name = {key: value for key, value in options.items() if key != "name"}
    return read_options(task.Options, without_name, "task", TaskError)
