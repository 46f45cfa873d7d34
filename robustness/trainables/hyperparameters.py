"""The hyperparameters that the built-in trainable knows, and whether a search space gives sensible ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from robustness.errors import SearchSpaceError, unknown_name
from robustness.space.options import Branches, Choices, Constant, Option, Options, Range, Scalar
from robustness.trainables.optimizers import OPTIMIZERS
from robustness.validation import shown


class Kind(NamedTuple):
    """What values a hyperparameter takes."""

    words: str
    fits: Callable[[Scalar], bool]


def _number(words: str, fits: Callable[[float], bool]) -> Kind:
    return Kind(words, lambda value: _is_number(value) and fits(float(value or 0)))


def _is_number(value: Scalar) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _whole(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


HYPERPARAMETERS: dict[str, Kind] = {
    "optimizer": Kind(f"one of {', '.join(OPTIMIZERS)}", lambda value: value in OPTIMIZERS),
    "learning_rate": _number("a number above 0", lambda value: value > 0),
    "learning_rate_decay": _number("a factor above 0 and at most 1", lambda value: 0 < value <= 1),
    "momentum": _number("a number from 0 to below 1", lambda value: 0 <= value < 1),
    "nesterov": Kind("true or false", lambda value: isinstance(value, bool)),
    "weight_decay": _number("a number from 0 on", lambda value: value >= 0),
    "batch_size": Kind("a whole number from 1 on", _whole),
    "variational_samples": Kind("a whole number from 1 on", _whole),
    "initial_rho": _number("a number between -50 and 50", lambda value: -50 <= value <= 50),
    "dropout_rate": _number("a number between 0 and 1", lambda value: 0 < value < 1),
    "threshold": _number("a number above 0", lambda value: value > 0),
}


def check_hyperparameters(
    options: Options,
    own_methods: bool,
    known: Mapping[str, Kind] = HYPERPARAMETERS,
    needed: Sequence[str] = ("optimizer", "learning_rate"),
) -> None:
    """Raise unless every option is known, has fitting values, and what training cannot do without is always given.

    Names that only a user's own method could know pass if there is one among the arms.
    """
    for path, name, option in _each(options, ""):
        kind = known.get(name)
        if kind is None:
            if not own_methods:
                raise SearchSpaceError(f"{path}: {unknown_name('hyperparameter', name, known)}")
            continue
        for value in _extremes(option):
            if not kind.fits(value):
                raise SearchSpaceError(f"{path}: must be {kind.words}, found {shown(value)}")
    for name in needed:
        if name not in always_given(options):
            raise SearchSpaceError(f"{name}: is missing: every configuration needs it")


def always_given(options: Options) -> set[str]:
    """The options that every configuration has, whatever was chosen."""
    given: set[str] = set()
    for name, option in options.items:
        given.add(name)
        if isinstance(option, Branches):
            given |= set.intersection(*(always_given(below) for _, below in option.branches))
    return given


def _each(options: Options, path: str) -> Iterator[tuple[str, str, Option]]:
    for name, option in options.items:
        yield f"{path}{name}", name, option
        if isinstance(option, Branches):
            for choice, below in option.branches:
                yield from _each(below, f"{path}{name}.{choice}.")


def _extremes(option: Option) -> tuple[Scalar, ...]:
    match option:
        case Constant(value=value):
            return (value,)
        case Choices(values=values):
            return values
        case Range(low=low, high=high, integer=integer):
            return (int(low), int(high)) if integer else (float(low), float(high))
        case Branches(branches=branches):
            return tuple(choice for choice, _ in branches)
