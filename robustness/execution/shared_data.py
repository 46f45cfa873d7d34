"""One copy of a task's data per node: arrays in Ray's object store, memory-mapped files in the page cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import ray

from robustness.tasks import load_task, provide_task

_provided: set[ray.ObjectRef[Any]] = set()


def share(task: Mapping[str, Any]) -> ray.ObjectRef[Any] | None:
    """Put the task's arrays into the object store; None if they are memory-mapped, since a copy would fill the RAM."""
    data = load_task(task)
    if any(_is_mapped(array) for array in _arrays(data)):
        return None
    return ray.put(data)


def size(task: Mapping[str, Any]) -> int:
    """Return the bytes that `share` would put into the object store."""
    arrays = list(_arrays(load_task(task)))
    return 0 if any(map(_is_mapped, arrays)) else sum(array.nbytes for array in arrays)


def provide(task: Mapping[str, Any], reference: ray.ObjectRef[Any]) -> None:
    """Make `load_task` in this process return the shared arrays, read-only and without a copy."""
    if reference not in _provided:
        provide_task(task, ray.get(reference))
        _provided.add(reference)


def _arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _arrays(getattr(value, field.name))


def _is_mapped(array: np.ndarray[Any, Any]) -> bool:
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return True
        base = base.base
    return False
