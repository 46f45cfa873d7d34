"""Whether a configuration that a person wrote down is one of a search space."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from robustness.errors import SearchSpaceError, shown
from robustness.space.options import Branches, Choices, Constant, Option, Options, Range, Scalar
from robustness.space.space import Configuration, Space

MOST_SHOWN = 8
"""Allowed values that a message lists."""


def configuration_in(space: Space, values: Mapping[str, Any], key: str = "default") -> Configuration:
    """The configuration with these values, constants filled in and numbers as the space writes them.

    Raises SearchSpaceError, which starts with the `key` at fault, unless it is in the space and meets its conditions.
    """
    found = _taken(space.options, values, key)
    for name in values:
        if name not in found:
            above = ", ".join(
                f"{choice} {shown(found[choice])}" for choice in sorted(space.options.above(name) & {*found})
            )
            raise SearchSpaceError(
                f"{key}.{name}: does not exist with {above}" if above else f"{key}.{name}: is unknown"
            )
    for condition in space.conditions:
        if not condition.holds(found):
            raise SearchSpaceError(f"{key}: violates the condition {condition.text!r} of the space")
    return space.in_order(found)


def _taken(options: Options, values: Mapping[str, Any], key: str) -> Configuration:
    found: Configuration = {}
    for name, option in options.items:
        place = f"{key}.{name}"
        if name not in values and not isinstance(option, Constant):
            raise SearchSpaceError(f"{place}: is missing; it may be {_allowed(option)}")
        value = _value(option, values.get(name), place) if name in values else _constant(option)
        found[name] = value
        if isinstance(option, Branches):
            found |= _taken(dict(option.branches)[str(value)], values, key)
    return found


def _value(option: Option, value: Any, place: str) -> Scalar:
    match option:
        case Constant(value=constant):
            known: Iterable[Scalar] = (constant,)
        case Choices(values=choices):
            known = choices
        case Branches(branches=branches):
            known = [name for name, _ in branches]
        case Range():
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if number and option.low <= value <= option.high and (not option.integer or value == int(value)):
                return int(value) if option.integer else float(value)
            known = ()
    for each in known:
        # true is no 1, though they are equal.
        if each == value and isinstance(each, bool) == isinstance(value, bool):
            return each
    raise SearchSpaceError(f"{place}: must be {_allowed(option)}, found {shown(value)}")


def _constant(option: Option) -> Scalar:
    return option.value if isinstance(option, Constant) else None


def _allowed(option: Option) -> str:
    match option:
        case Constant(value=value):
            return shown(value)
        case Range(low=low, high=high, integer=integer):
            return f"{'an integer' if integer else 'a number'} from {low:g} to {high:g}"
        case Choices(values=values):
            names: list[Scalar] = list(values)
        case Branches(branches=branches):
            names = [name for name, _ in branches]
    more = f" or {len(names) - MOST_SHOWN} others" if len(names) > MOST_SHOWN else ""
    return ", ".join(map(shown, names[:MOST_SHOWN])) + more
