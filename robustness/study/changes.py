"""Compare two versions of a study: whether the new one only extends the old one, and which keys differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robustness.errors import shown

NOT_DECISIVE = ("description", "resources", "reference", "stop", "compare_with", "contrasts")
"""Keys that do not affect results and may change between two runs of a study."""

ANALYSIS_ONLY = ("equivalent_within", "secondary")
"""Keys of `outcomes` that do not affect trials or their outcomes."""


def decisive(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a study's document that affects results."""
    kept = {key: value for key, value in document.items() if key not in NOT_DECISIVE}
    if kept.get("outcomes"):
        kept["outcomes"] = {key: value for key, value in kept["outcomes"].items() if key not in ANALYSIS_ONLY}
    return kept


def all_differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return every differing key with both values, those that only affect the analysis included; not `resources`."""
    ignored = ("description", "resources")
    before, after = (
        {**_deciding(document), **{key: document.get(key) for key in NOT_DECISIVE if key not in ignored}}
        | {"outcomes": document.get("outcomes")}
        for document in (old, new)
    )
    return _differences(before, after, "")


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return every differing key that affects results, with both values: `training.epochs: 12, now 20`."""
    return _differences(_deciding(old), _deciding(new), "")


def extends(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the new document is the old one with the same or more configurations, replicates, arms, tasks or runs.

    The choice of final models may change, because each is stored under the number of the run that it comes from, but
    the number of searches may only grow: none of them may be left out once its result is known. The winners' number of
    replicates may grow, and `winners.fewer` may change. A default may be added, not changed. Replicates cannot be added
    to a study with `stop`: they would change evidence that has already been looked at.
    """
    before, after = _deciding(old), _deciding(new)
    fewer, more = ((document.pop("finals", None) or {}).get("searches", 1) for document in (before, after))
    if more < fewer:
        return False
    winners_before, winners_after = before.pop("winners", None), after.pop("winners", None)
    if winners_before and not (
        winners_after
        and winners_after["by"] == winners_before["by"]
        and winners_after["replicates"] >= winners_before["replicates"]
    ):
        return False
    if before.get("search") and after.get("search"):
        before["search"], after["search"] = dict(before["search"]), dict(after["search"])
        if after["search"].pop("runs") < before["search"].pop("runs"):
            return False
    default_before, default_after = before.pop("default", None), after.pop("default", None)
    if default_before is not None and default_after != default_before:
        return False
    arms_before, arms_after = before.pop("arms", {}), after.pop("arms", {})
    if any(arms_after.get(label) != arm for label, arm in arms_before.items()):
        return False
    tasks_before, tasks_after = before.pop("tasks", {}), after.pop("tasks", {})
    if any(tasks_after.get(label) != task for label, task in tasks_before.items()) or (
        tasks_after and not tasks_before
    ):
        return False
    sampling_before, sampling_after = dict(before.pop("sampling", {})), dict(after.pop("sampling", {}))
    for key in ("configurations", "replicates"):
        less, more = sampling_before.pop(key, None), sampling_after.pop(key, None)
        # A grid without a number of configurations includes all of them.
        if more is not None and (less is None or more < less):
            return False
        # Streams that are varied number their trials one after another.
        if key == "replicates" and more != less and (old.get("stop") or sampling_before.get("vary")):
            return False
    return before == after and sampling_before == sampling_after


def _deciding(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that affect results, with arms and tasks by label because their order does not matter."""
    kept = decisive(document)
    kept["arms"] = {arm["label"]: arm for arm in document.get("arms", [])}
    if document.get("tasks"):
        kept["tasks"] = {task["label"]: task["task"] for task in document["tasks"]}
    if "training" in kept:
        kept["training"] = present_training(kept["training"])
    return kept


def present_training(training: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored `training` section in today's keys: `mixed_precision` became `precision`."""
    present = dict(training)
    if present.pop("mixed_precision", False):
        present["precision"] = "bfloat16"
    return present


_ABSENT = object()


def _differences(old: Any, new: Any, path: str) -> list[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        lines: list[str] = []
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{path}.{key}" if path else str(key)
            lines += _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), place)
        return lines
    kind, _, label = path.partition(".")
    member = f"the {kind[:-1]} {label!r}" if kind in ("arms", "tasks") and label and "." not in label else None
    if old is _ABSENT:
        return [f"{member} was added" if member else f"{path}: not set before, now {shown(new)}"]
    if new is _ABSENT:
        return [f"{member} was removed" if member else f"{path}: {shown(old)}, now removed"]
    same = _same_number(old, new) or (old == new and type(old) is type(new))
    return [] if same else [f"{path}: {shown(old)}, now {shown(new)}"]


def _same_number(old: Any, new: Any) -> bool:
    """Whether both are the same number: a database may turn 1 into 1.0, but 1 and true differ."""
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (old, new))
    return numbers and old == new
