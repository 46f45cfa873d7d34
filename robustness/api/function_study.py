"""A study of functions: the same record that a study file becomes, without the file."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from robustness.api.fingerprint import fingerprint
from robustness.api.spaces import plain_space
from robustness.errors import StoreError, StudyFileError, shown, unknown_name
from robustness.goal import GoalName
from robustness.metrics import find_metric
from robustness.plugins import functions_provided
from robustness.store.study_store import StudyStore
from robustness.study.loading import make_study
from robustness.study.sections import StudyFile
from robustness.study.study import Study
from robustness.trainables.function.study import name_of
from robustness.trial import ENDED, FUNCTION, NO_RESULT

SOURCE = "robustness.sweep"
FURTHER_SECTIONS = ("compare_with", "contrasts", "default", "reference", "stop", "winners")
"""Sections of a study file that a study of functions may have, beside those with an argument of their own."""
FUNCTIONS_NOTE = "functions"
"""The note with the name and fingerprint of each arm's function, and when it was first used."""
Functions = Mapping[str, Callable[..., Any]]


def function_study(
    arms: Functions,
    space: Mapping[str, Any] | None,
    *,
    configurations: int | None = None,
    metric: str = "score",
    goal: GoalName | None = None,
    good: float | Mapping[str, float] | None = None,
    learned_nothing: float | Mapping[str, float] | None = None,
    epoch: Literal["best", "last"] = "best",
    primary: Literal["learned_nothing", "good"] | None = None,
    strategy: Literal["random", "grid", "sobol"] = "random",
    replicates: int = 1,
    seed: int = 0,
    name: str | None = None,
    description: str = "",
    tasks: Sequence[str | Mapping[str, Any]] | None = None,
    training: Mapping[str, Any] | None = None,
    resources: Mapping[str, Any] | None = None,
    **sections: Any,
) -> tuple[Study, Functions]:
    """Return the study of some functions, and the functions by the labels of their arms.

    `good` is the number that the metric of a good trial reaches, from above if its `goal` is `minimize`. A trial whose
    metric does not get to `learned_nothing` learned nothing; without it, every trial that is not good counts so, and
    the verdict is about `good`; without both, arms are compared by their scores.

    With `tasks`, names or mappings with a `name`, every configuration is trained on each of them; a function finds its
    own in `trial.task`. `training` is handed to every trial as it stands, `resources` and further sections (`stop`,
    `winners`, ...) are those of a study file. Without a name the study is named by a hash of its settings but the
    number of configurations and replicates: the same call resumes it, and a changed one is another study.
    """
    functions = _functions(arms)
    if space is None:
        raise StudyFileError(f"{SOURCE}: space is missing: a mapping of hyperparameters to choices or ranges")
    for key in sections:
        if key not in StudyFile.model_fields:
            options = set(inspect.signature(function_study).parameters) - {"arms", "space", "sections"}
            raise StudyFileError(f"{SOURCE}: {unknown_name('option', key, options | set(FURTHER_SECTIONS))}")
    data: dict[str, Any] = {
        "description": description,
        "trainable": FUNCTION,
        "arms": [{"name": label, "method": name_of(function)} for label, function in functions.items()],
        "space": plain_space(space),
        "sampling": {
            "strategy": strategy,
            **({} if configurations is None else {"configurations": configurations}),
            "replicates": replicates,
            "seed": seed,
        },
        "training": dict(training or {}),
        "outcomes": {
            "metric": metric,
            "epoch": epoch,
            **({} if goal is None else {"goal": goal}),
            **_thresholds(goal or find_metric(metric).goal, good, learned_nothing, primary),
        },
        **({} if resources is None else {"resources": dict(resources)}),
        **({} if tasks is None else {"tasks": [_task(task) for task in tasks]}),
        **{key: value for key, value in sections.items() if value is not None},
    }
    data["name"] = name if name is not None else _name(data)
    with functions_provided(data["name"], functions):
        return make_study(data, SOURCE), functions


def _task(task: Any) -> Mapping[str, Any]:
    if not isinstance(task, (str, Mapping)):
        raise StudyFileError(f"{SOURCE}: a task is a name or a mapping with a name, found {shown(task)}")
    return {"name": task} if isinstance(task, str) else dict(task)


def _thresholds(
    goal: GoalName | None,
    good: float | Mapping[str, float] | None,
    nothing: float | Mapping[str, float] | None,
    primary: str | None,
) -> dict[str, Any]:
    """Return the thresholds as a study file has them; a number is on the side that the goal asks for."""
    if good is None:
        if nothing is not None:
            raise StudyFileError(f"{SOURCE}: good is missing: the number that the metric of a good trial reaches")
        return {} if primary is None else {"primary": primary}
    below, at_least = ("above", "at_most") if goal == "minimize" else ("below", "at_least")
    good_rule = dict(good) if isinstance(good, Mapping) else {at_least: good}
    if nothing is None:
        return {"good": good_rule, "learned_nothing": {below: good_rule.get(at_least)}, "primary": primary or "good"}
    nothing_rule = dict(nothing) if isinstance(nothing, Mapping) else {below: nothing}
    return {"good": good_rule, "learned_nothing": nothing_rule, "primary": primary or "learned_nothing"}


def check_changes(functions: Functions, store: StudyStore, accept: bool) -> list[str]:
    """Return the arms whose code has changed and that have no result yet, so that all of their trials may run again.

    Raises StoreError if the code of an arm has changed since results of it were stored, unless that is accepted.
    """
    known: Mapping[str, Mapping[str, Any]] = store.note(FUNCTIONS_NOTE) or {}
    with_results = {key.arm for key, status in store.states().items() if status in ENDED and status not in NO_RESULT}
    changed = [
        label for label, each in functions.items() if label in known and known[label]["code"] != fingerprint(each)
    ]
    for label in changed:
        if accept or label not in with_results:
            continue
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(known[label]["since"]))
        raise StoreError(
            f"{name_of(functions[label])} has changed since the first results of the arm {label!r} in study "
            f"{store.name!r} ({since}), and old and new results would be mixed: set another name or store; or, if the "
            "change does not affect these results, accept_changes=True, with retry=True to rerun failed trials"
        )
    return [label for label in changed if label not in with_results]


def save_fingerprints(functions: Functions, store: StudyStore) -> None:
    """Save the fingerprints of the functions in the study; a function that is the same keeps its time."""
    known: Mapping[str, Mapping[str, Any]] = store.note(FUNCTIONS_NOTE) or {}
    now = {label: {"name": name_of(each), "code": fingerprint(each)} for label, each in functions.items()}
    kept = {
        label: known[label] if known.get(label, {}).get("code") == entry["code"] else {**entry, "since": time.time()}
        for label, entry in now.items()
    }
    if {**known, **kept} != known:
        store.save_note(FUNCTIONS_NOTE, {**known, **kept})


def _functions(arms: Any) -> dict[str, Callable[..., Any]]:
    if not isinstance(arms, Mapping) or not arms:
        raise StudyFileError(
            f"{SOURCE}: the arms are a mapping of labels to functions, or a study of load_study, found {shown(arms)}"
        )
    for label, function in arms.items():
        if not isinstance(label, str):
            raise StudyFileError(f"{SOURCE}: the label of an arm is text, found {shown(label)}")
        if not callable(function):
            raise StudyFileError(f"{SOURCE}: arm {label!r}: must be a function, found {shown(function)}")
    return dict(arms)


def _name(data: Mapping[str, Any]) -> str:
    """Return a name made of the labels and a hash of what decides a trial's result."""
    decisive = {key: data[key] for key in data if key not in ("description", "resources")}
    decisive["arms"] = sorted(arm["name"] for arm in data["arms"])
    decisive["sampling"] = {key: data["sampling"][key] for key in ("strategy", "seed")}
    text = json.dumps(decisive, sort_keys=True, default=repr)
    labels = "-".join(arm["name"] for arm in data["arms"])
    stem = labels if re.fullmatch(r"[\w.+-]{1,60}", labels) else "study"
    return f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
