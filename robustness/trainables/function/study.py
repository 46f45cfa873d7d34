"""The functions of a study: whether they are there, and whether they can be called with its configurations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from robustness.errors import StudyFileError, plural, shown, unknown_name
from robustness.plugins import functions_of
from robustness.streams import Streams
from robustness.study.study import Study
from robustness.trial import Trial

Function = Callable[..., Any]
TRIAL, SEED = "trial", "seed"
"""Parameters that are no hyperparameters: the `Trial` itself, and a seed that is the same for all arms of a pair."""


def check(study: Study, check_data: bool) -> Study:  # noqa: ARG001 - a hook
    """Return the study; raises StudyFileError if an arm has no function in this process."""
    functions = functions_of(study.name)
    if functions is None:
        raise StudyFileError(
            "trainable: 'function' stands for functions of a Python process; pass them to robustness.sweep in Python, "
            "or write package.module:function here"
        )
    for arm in study.arms:
        if arm.label not in functions:
            raise StudyFileError(f"arms: {unknown_name('arm', arm.label, functions)}")
    return study


def check_signatures(trials: Iterable[Trial]) -> None:
    """Raise StudyFileError if a function cannot be called with the hyperparameters of one of its trials."""
    checked: set[tuple[str, tuple[str, ...]]] = set()
    for trial in trials:
        shape = (trial.arm, tuple(trial.hyperparameters))
        if shape not in checked:
            checked.add(shape)
            _check(function_of(trial), trial)


def function_of(trial: Trial) -> Function:
    """Return the function that trains a trial; raises StudyFileError if it is not in this process."""
    functions = functions_of(trial.study) or {}
    if trial.arm not in functions:
        raise StudyFileError(f"the function of the arm {trial.arm!r} is not in this process")
    return functions[trial.arm]


def arguments_of(function: Function, trial: Trial) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what a function is called with: the trial alone, or hyperparameters as keywords.

    A function with one parameter that is not a hyperparameter gets the trial; otherwise the parameters `trial` and
    `seed` are filled, unless hyperparameters have these names.
    """
    names, rest = _parameters(function)
    drawn = trial.hyperparameters
    if len(names) == 1 and not rest and names[0] not in drawn and names[0] != SEED:
        return (trial,), {}
    own = {TRIAL: trial, SEED: Streams.of(trial).external_seed()}
    filled = {name: own[name] for name in own if name in names and name not in drawn}
    return (), {**filled, **drawn}


def takes_trial(function: Function, trial: Trial) -> bool:
    """Whether a function gets the trial, so that it can report to it."""
    positional, named = arguments_of(function, trial)
    return bool(positional) or named.get(TRIAL) is trial


def name_of(function: Function) -> str:
    """Return a function's name, as it appears in messages and in the store."""
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return str(name).rpartition("<locals>.")[2]


def _check(function: Function, trial: Trial) -> None:
    name = name_of(function)
    try:
        signature = inspect.signature(function)
        positional, named = arguments_of(function, trial)
    except (TypeError, ValueError):
        raise StudyFileError(f"arm {trial.arm!r}: {name} is not a function that can be called") from None
    try:
        signature.bind(*positional, **named)
    except TypeError:
        line = _misfit(signature, named, trial.hyperparameters)
        raise StudyFileError(
            f"arm {trial.arm!r}: {name}{_shortened(signature)} does not fit the search space: {line}; "
            "it takes a trial, or every hyperparameter as a keyword (and, if it likes, trial and seed)"
        ) from None
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise StudyFileError(f"arm {trial.arm!r}: {name} is asynchronous; a function that trains runs to its end")


def _misfit(signature: inspect.Signature, named: Mapping[str, Any], drawn: Mapping[str, Any]) -> str:
    parameters = signature.parameters.values()
    keywords = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    unfilled = [
        each.name
        for each in parameters
        if each.default is each.empty
        and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        and (each.name not in named or each.kind is each.POSITIONAL_ONLY)
    ]
    unknown = [name for name in drawn if name not in keywords]
    if unfilled and unknown:
        return f"no hyperparameter fills {unfilled[0]!r}, and {unknown[0]!r} has no parameter"
    if unfilled:
        return f"no hyperparameter fills {unfilled[0]!r} (there {_are(drawn)})"
    return f"the hyperparameter {unknown[0]!r} has no parameter" if unknown else "it cannot be called with keywords"


def _are(drawn: Mapping[str, Any]) -> str:
    return f"{'is' if len(drawn) == 1 else 'are'} {', '.join(drawn)}" if drawn else f"are {plural(0, 'hyperparameter')}"


def _parameters(function: Function) -> tuple[list[str], bool]:
    """Return the names of a function's parameters, and whether it takes further keywords."""
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return names, any(each.kind is each.VAR_KEYWORD for each in parameters)


def _shortened(signature: inspect.Signature) -> str:
    text = str(signature).partition(" -> ")[0]
    return text if len(text) <= 80 else shown(text, 80)
