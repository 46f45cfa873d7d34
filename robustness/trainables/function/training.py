"""Training by calling a function: whatever it returns, yields or reports becomes the epochs of its trial."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

from robustness.errors import RobustnessError
from robustness.trainables.function.pushing import Pushed
from robustness.trainables.function.study import arguments_of, function_of, name_of, takes_trial
from robustness.trial import EpochResult, Trial

EPOCH = "epoch"
"""The key of a mapping that numbers its epoch; it is no measure."""


def train(trial: Trial) -> Generator[EpochResult]:
    """Call the function of the trial's arm, and yield its epochs with the time that each took."""
    results = results_of(function_of(trial), trial)
    start = time.perf_counter()
    try:
        for result in results:
            end = time.perf_counter()
            yield result if result.seconds else replace(result, seconds=end - start)
            start = time.perf_counter()
    finally:
        results.close()


def results_of(function: Callable[..., Any], trial: Trial) -> Generator[EpochResult]:
    """Yield the epochs of a function that returns a number or a mapping, yields one an epoch, or calls `trial.report`.

    Raises RobustnessError if it does none of these.
    """
    positional, named = arguments_of(function, trial)
    call = partial(function, *positional, **named)
    if inspect.isgeneratorfunction(_inner(function)) or not takes_trial(function, trial):
        returned = call()
        reported = 0
    else:
        # Only a function that has the trial can report to it.
        pushed = Pushed(call, trial)
        yield from pushed
        returned, reported = pushed.returned, pushed.count
    if reported:
        # What it returns after its last epoch may be anything, such as its model.
        return
    yield from _numbered(returned, trial, name_of(function))


def _numbered(returned: Any, trial: Trial, name: str) -> Generator[EpochResult]:
    if _is_number(returned) or isinstance(returned, (Mapping, EpochResult)):
        yield _result(returned, 1, trial, name)
        return
    if returned is None or isinstance(returned, (str, bytes)) or not isinstance(returned, Iterable):
        kind = "nothing" if returned is None else f"a {type(returned).__name__}"
        if inspect.iscoroutine(returned):
            returned.close()  # One that is never awaited would print a warning.
        raise RobustnessError(
            f"{name} returned {kind} and reported no epoch: return a number or a dictionary of measures, yield one "
            "for each epoch, or call trial.report(epoch, ...)"
        )
    # A `for` loop would not close a generator that is left in the middle.
    results = iter(returned)
    try:
        for number, value in enumerate(results, start=1):
            yield _result(value, number, trial, name)
    finally:
        close = getattr(results, "close", None)
        if close is not None:
            close()


def _result(value: Any, number: int, trial: Trial, name: str) -> EpochResult:
    if isinstance(value, EpochResult):
        return value
    if isinstance(value, Mapping):
        measures = dict(value)
        return EpochResult(measures.pop(EPOCH, number), measures)
    if _is_number(value):
        return EpochResult(number, {trial.metric: value})
    raise RobustnessError(
        f"{name} yielded a {type(value).__name__}, where a number, a dictionary of measures or an EpochResult belongs"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) or (getattr(value, "shape", None) == () and hasattr(value, "item"))


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function behind a `partial` or an object that can be called."""
    while isinstance(function, partial):
        function = function.func
    return function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
