"""The types of the report's results, looked into: their keys, and whether a value has one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict


def typed_dicts(hint: Any) -> set[Any]:
    """Every TypedDict that a type is made of."""
    found: set[Any] = set()

    def walk(part: Any) -> None:
        if is_typeddict(part) and part not in found:
            found.add(part)
            for inner in get_type_hints(part).values():
                walk(inner)
        for inner in get_args(part):
            walk(inner)

    walk(hint)
    return found


def keys_of(hint: Any) -> set[str]:
    """Every key of every TypedDict that a type is made of."""
    return {key for each in typed_dicts(hint) for key in get_type_hints(each)}


def literals_of(hint: Any) -> set[str]:
    """Every value that a type names."""
    hints = [inner for each in typed_dicts(hint) for inner in get_type_hints(each).values()]
    return {value for inner in hints for value in _literals(inner)}


def _literals(hint: Any) -> Iterator[str]:
    for inner in get_args(hint):
        yield from [inner] if get_origin(hint) is Literal else _literals(inner)


def misfits(value: object, hint: Any, place: str = "results") -> Iterator[str]:
    """Where a value of the JSON does not have its type: a key too many or too few, or something else than declared."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return
    if is_typeddict(hint):
        yield from _misfits_of_keys(value, hint, place)
    elif origin in (Union, UnionType):
        if all(any(misfits(value, option, place)) for option in arguments):
            yield from misfits(value, next(option for option in arguments if option is not NoneType), place)
    elif origin is Literal:
        if value not in arguments:
            yield f"{place}: {value!r} is not one of {arguments}"
    elif origin is list:
        if not isinstance(value, list):
            yield f"{place}: {value!r} is no list"
            return
        for number, item in enumerate(value):
            yield from misfits(item, arguments[0], f"{place}[{number}]")
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            yield f"{place}: {value!r} is no object"
            return
        for key, item in value.items():
            yield from misfits(item, arguments[1], f"{place}.{key}")
    elif not isinstance(value, (int, float) if hint is float else hint) or (
        isinstance(value, bool) and hint is not bool
    ):
        yield f"{place}: {value!r} is no {getattr(hint, '__name__', hint)}"


def _misfits_of_keys(value: object, hint: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: {value!r} is no {hint.__name__}"
        return
    hints = get_type_hints(hint)
    yield from (f"{place}.{key}: not a key of {hint.__name__}" for key in value.keys() - hints.keys())
    yield from (f"{place}.{key}: missing, though {hint.__name__} requires it" for key in _required(hint) - value.keys())
    for key in value.keys() & hints.keys():
        yield from misfits(value[key], hints[key], f"{place}.{key}")


def _required(hint: Any) -> set[str]:
    """The keys of a TypedDict that are not `NotRequired`."""
    bare = get_type_hints(hint, include_extras=True)
    return {key for key in hint.__total__ * list(bare) if "NotRequired" not in repr(get_origin(bare[key]))}


def without_times(results: Mapping[str, Any]) -> dict[str, Any]:
    """A report's results without the hours that trials took, which differ between two runs of a study."""
    best_of = results.get("best_of")
    if best_of is None:
        return dict(results)
    comparisons = [{**entry, "hours": []} for entry in best_of["comparisons"]]
    return {**results, "best_of": {**best_of, "cost": {}, "comparisons": comparisons}}
