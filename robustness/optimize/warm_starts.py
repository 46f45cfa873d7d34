"""Configurations from which a search starts: the best of a finished sweep, as parameters only, never with their scores.

Another study's scores come from another network or other epochs; where it learned well is still a good place to begin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from robustness.errors import StoreError
from robustness.optimize.proposals import parameters_of
from robustness.optimize.search import search_of, searched_arms
from robustness.space.options import Branches, Choices, Constant, Options, Range, Scalar
from robustness.store import Store
from robustness.store.study_store import StudyStore
from robustness.study.study import Study

NOTE = "warm_starts"
SAME = {"amsgrad": "adam", "adam": "adam"}
"""Optimisers whose learning rates mean the same."""


def warm_starts(study: Study, registered: StudyStore, store: Store) -> dict[str, list[dict[str, Scalar]]]:
    """For each arm what its first runs start from, kept in the store when it is first looked for.

    Raises StoreError if the store has no study of that name.
    """
    search = search_of(study)
    if search.warm_start is None:
        return {}
    kept: dict[str, list[dict[str, Scalar]]] = registered.note(NOTE) or {}
    missing = [arm for arm in searched_arms(study) if arm not in kept]
    if missing:
        try:
            other = store.study(search.warm_start)
        except StoreError as error:
            raise StoreError(f"search.warm_start: {error}") from None
        kept |= {arm: _best(study, arm, other, search.warm_starts) for arm in missing}
        registered.save_note(NOTE, kept)
    return kept


def _best(study: Study, arm: str, other: StudyStore, count: int) -> list[dict[str, Scalar]]:
    """The parameters of the other study's best finished trials of the same arm, or else of the same method."""
    methods = {entry["label"]: entry["method"] for entry in other.document()["arms"]}
    method = next(entry.method for entry in study.arms if entry.label == arm)
    labels = [arm] if arm in methods else [label for label, of in methods.items() if of == method]
    drawn = other.configurations()
    finished = [
        (trial.key, trial.metric)
        for trial in other.results()
        if trial.key.arm in labels
        and trial.status == "finished"
        and trial.metric is not None
        and math.isfinite(trial.metric)
    ]
    found: list[dict[str, Scalar]] = []
    for key, _ in sorted(finished, key=lambda pair: (-pair[1], pair[0])):
        options = study.space_of(arm).options
        fitting = fitted(options, drawn[key.configuration])
        if fitting is None:
            continue
        parameters = parameters_of(options, fitting)[0]
        if parameters and parameters not in found:
            found.append(parameters)
        if len(found) == count:
            break
    return found


def fitted(options: Options, values: Mapping[str, Any]) -> dict[str, Scalar] | None:
    """What a space can take of a configuration from elsewhere: numbers are moved into their ranges.

    None if it was drawn with a choice, such as another optimiser, that the space does not have and that gives the other
    values their meaning. What is missing is left to the sampler.
    """
    taken: dict[str, Scalar] = {}
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
                    moved = min(max(float(value), float(option.low)), float(option.high))
                    taken[name] = round(moved) if option.integer else moved
            case Choices(values=choices):
                near = [choice for choice in choices if choice == value or _kind(choice) == _kind(value)]
                if near:
                    taken[name] = value if value in choices else near[0]
                elif isinstance(value, str):
                    return None
            case Branches(branches=branches):
                chosen = next((choice for choice, _ in branches if _kind(choice) == _kind(value)), None)
                if chosen is None:
                    return None
                below = fitted(dict(branches)[chosen], values)
                if below is None:
                    return None
                taken |= {name: chosen, **below}
    return taken


def _kind(value: object) -> object:
    return SAME.get(value, value) if isinstance(value, str) else (type(value), value)
