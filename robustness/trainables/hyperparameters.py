"""The hyperparameters that built-in trainables know, and checks of the values in a search space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from robustness.errors import SearchSpaceError, shown, unknown_name
from robustness.space.options import Branches, Choices, Constant, Option, Options, Range, Scalar
from robustness.trainables.optimizers import OPTIMIZERS


class Kind(NamedTuple):
    """The values that a hyperparameter can take."""

    words: str
    fits: Callable[[Scalar], bool]


def _number(words: str, fits: Callable[[float], bool]) -> Kind:
    return Kind(words, lambda value: _is_number(value) and fits(float(value or 0)))


def _is_number(value: Scalar) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_count(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


HYPERPARAMETERS: dict[str, Kind] = {
    "optimizer": Kind(f"one of {', '.join(OPTIMIZERS)}", lambda value: value in OPTIMIZERS),
    "learning_rate": _number("a number above 0", lambda value: value > 0),
    "learning_rate_decay": _number("a factor above 0 and at most 1", lambda value: 0 < value <= 1),
    "momentum": _number("a number >= 0 and < 1", lambda value: 0 <= value < 1),
    "nesterov": Kind("true or false", lambda value: isinstance(value, bool)),
    "weight_decay": _number("a number >= 0", lambda value: value >= 0),
    "batch_size": Kind("an integer >= 1", _is_count),
    "variational_samples": Kind("an integer >= 1", _is_count),
    "initial_rho": _number("a number between -50 and 50", lambda value: -50 <= value <= 50),
    "dropout_rate": _number("a number between 0 and 1", lambda value: 0 < value < 1),
    "threshold": _number("a number above 0", lambda value: value > 0),
}


def check_hyperparameters(
    options: Options,
    own_methods: bool,
    known: Mapping[str, Kind] = HYPERPARAMETERS,
    needed: Sequence[str] = ("optimizer", "learning_rate"),
    section: str = "space",
) -> None:
    """Raise unless every option is known and has valid values, and every configuration has the needed ones.

    With `own_methods` unknown names are accepted, since a user's own method may use them. Messages start with the
    section of the study file.
    """
    for path, name, option in _each(options, ""):
        kind = known.get(name)
        if kind is None:
            if not own_methods:
                raise SearchSpaceError(f"{section}.{path}: {unknown_name('hyperparameter', name, known)}")
            continue
        for value in _extremes(option):
            if not kind.fits(value):
                raise SearchSpaceError(f"{section}.{path}: must be {kind.words}, found {shown(value)}")
    for name in needed:
        if name not in always_given(options):
            raise SearchSpaceError(f"{section}.{name}: is missing: every configuration needs it")


def always_given(options: Options) -> set[str]:
    """Return the options that every configuration has, whichever branches are chosen."""
    names: set[str] = set()
    for name, option in options.items:
        names.add(name)
        if isinstance(option, Branches):
            names |= set.intersection(*(always_given(below) for _, below in option.branches))
    return names


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
