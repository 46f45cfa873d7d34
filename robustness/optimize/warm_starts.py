"""Warm starts: the first configurations of a search are the best ones of another study.

Only their parameters are taken, not their scores, which another network or number of epochs may have produced. Every
search of the study starts from the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from robustness.errors import StoreError
from robustness.goal import goal_in
from robustness.metrics import objective_goal
from robustness.optimize.proposals import parameters_of
from robustness.optimize.search import search_of, searched_arms
from robustness.space.options import Branches, Choices, Constant, Options, Range, Scalar
from robustness.store import Store
from robustness.store.study_store import StudyStore
from robustness.study.study import Study

NOTE = "warm_starts"
SAME = {"amsgrad": "adam", "adam": "adam"}
"""Optimisers with comparable learning rates."""


def warm_starts(study: Study, registered: StudyStore, store: Store) -> dict[str, list[dict[str, Scalar]]]:
    """The parameters of the first runs of each arm; a note in the store keeps them from the first call on.

    Raises StoreError if the store does not contain the study that `search.warm_start` names.
    """
    search = search_of(study)
    if search.warm_start is None:
        return {}
    starts: dict[str, list[dict[str, Scalar]]] = registered.note(NOTE) or {}
    missing = [arm for arm in searched_arms(study) if arm not in starts]
    if missing:
        try:
            other = store.study(search.warm_start)
        except StoreError as error:
            raise StoreError(f"search.warm_start: {error}") from None
        starts |= {arm: _best(study, arm, other, search.warm_starts) for arm in missing}
        registered.save_note(NOTE, starts)
    return starts


def _best(study: Study, arm: str, other: StudyStore, count: int) -> list[dict[str, Scalar]]:
    """The parameters of the best finished trials of the same arm in another study, or else of the same method."""
    document = other.document()
    goal = objective_goal((document.get("search") or {}).get("objective"), goal_in(document))
    methods = {entry["label"]: entry["method"] for entry in document["arms"]}
    method = next(entry.method for entry in study.arms if entry.label == arm)
    labels = [arm] if arm in methods else [label for label, of in methods.items() if of == method]
    configurations = other.configurations()
    finished = [
        (trial.key, trial.metric)
        for trial in other.results()
        if trial.key.arm in labels
        and trial.status == "finished"
        and trial.metric is not None
        and math.isfinite(trial.metric)
    ]
    best: list[dict[str, Scalar]] = []
    for key, _ in sorted(finished, key=lambda pair: (-goal.oriented(pair[1]), pair[0])):
        options = study.space_of(arm).options
        values = fitted(options, configurations[key.configuration])
        if values is None:
            continue
        parameters = parameters_of(options, values)[0]
        if parameters and parameters not in best:
            best.append(parameters)
        if len(best) == count:
            break
    return best


def fitted(options: Options, values: Mapping[str, Any]) -> dict[str, Scalar] | None:
    """The part of another study's configuration that fits a space, with numbers clipped to their ranges.

    None if the configuration depends on a choice that the space lacks, such as another optimiser. The sampler fills in
    missing values.
    """
    fitting: dict[str, Scalar] = {}
    for name, option in options.items:
        value = values.get(name)
        if name not in values:
            continue
        match option:
            case Constant(value=constant):
                if isinstance(constant, str) and _kind(constant) != _kind(value):
                    return None
            case Range():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    clipped = min(max(float(value), float(option.low)), float(option.high))
                    fitting[name] = round(clipped) if option.integer else clipped
            case Choices(values=choices):
                similar = [choice for choice in choices if choice == value or _kind(choice) == _kind(value)]
                if similar:
                    fitting[name] = value if value in choices else similar[0]
                elif isinstance(value, str):
                    return None
            case Branches(branches=branches):
                chosen = next((choice for choice, _ in branches if _kind(choice) == _kind(value)), None)
                if chosen is None:
                    return None
                below = fitted(dict(branches)[chosen], values)
                if below is None:
                    return None
                fitting |= {name: chosen, **below}
    return fitting


def _kind(value: object) -> object:
    return SAME.get(value, value) if isinstance(value, str) else (type(value), value)
