"""The plan of a search for `robustness plan`, made without a store, data or Optuna."""

from __future__ import annotations

from typing import Any

from robustness.optimize.ensembles import final_counts, members_of, size_of
from robustness.space.options import Branches, Choices, Constant, Option, Options, Range
from robustness.study.study import Study


def plan_search(study: Study) -> dict[str, Any]:
    """The runs and final models of each arm over all searches, its space, and the number of trials in all."""
    if study.search is None:
        raise ValueError(f"the study {study.name!r} has no search")
    members, finals = members_of(study), final_counts(study)
    wanted = [] if study.finals is None else study.finals.arms or [arm.label for arm in study.arms]
    arms: list[dict[str, Any]] = []
    for arm in study.arms:
        made_of = members.get(arm.label)
        ensembles = finals.get(made_of, 0) // size_of(study, arm.label) if made_of and arm.label in wanted else 0
        arms.append(
            {
                "arm": arm.label,
                "method": arm.method,
                "runs": 0 if made_of else study.searches * study.search.runs,
                "final_models": study.searches * (ensembles if made_of else finals.get(arm.label, 0)),
                "made_of": made_of,
                "space": {} if made_of else _words(study.space_of(arm.label).options),
            }
        )
    trained = [arm for arm in arms if not arm["made_of"]]
    return {
        "study": study.name,
        "searches": study.searches,
        "sampler": study.search.sampler,
        "objective": study.objective,
        "trials": sum(arm["runs"] + arm["final_models"] for arm in trained),
        "arms": arms,
    }


def _words(options: Options) -> dict[str, str]:
    return {name: _of(option) for name, option in options.items}


def _of(option: Option) -> str:
    match option:
        case Constant(value=value):
            return str(value)
        case Choices(values=values):
            return "one of " + ", ".join(map(str, values))
        case Range(low=low, high=high, log=log):
            return f"{low:g} to {high:g}" + (" (log)" if log else "")
        case Branches(branches=branches):
            return " or ".join(
                choice + (f" ({', '.join(f'{n} {w}' for n, w in _words(below).items())})" if below.items else "")
                for choice, below in branches
            )
