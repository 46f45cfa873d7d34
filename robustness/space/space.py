"""Search spaces, read from a file and checked; `samplers` draws configurations from them.

A space is a mapping of options. An option is a constant (`momentum: 0.9`), a list of choices, a range
(`{low: 1.0e-5, high: 1.0e-3, scale: log}`, `integer: true` for integers), or choices with options of their own:

    optimizer:
      sgd: {learning_rate: [0.01, 0.001], momentum: 0.9}
      adam: {learning_rate: [0.001, 0.0001]}

Besides options a space may have `where` (a condition or a list of them), `stratify` (every choice of these options gets
an equal share) and `cross` (each draw of the other options is run with every choice of these). The order of keys in a
file only determines the order in which a configuration is displayed.
"""

from __future__ import annotations

import itertools
import keyword
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, TypeAlias

from robustness.errors import SearchSpaceError, shown, unknown_name
from robustness.guards.limits import check
from robustness.space.conditions import Condition, read_condition
from robustness.space.options import Branches, Choices, Constant, Fragment, Option, Options, Range, Scalar

LISTABLE = 100_000
"""A finite space up to this size is listed in full, so that draws never repeat."""
COUNTABLE = 1_000_000
"""Up to this many combinations of the options in `where` are tried to count the configurations it allows."""
MOST_WORK = 20_000_000
"""Up to this many terms of conditions are evaluated for that, which takes seconds."""
SETTINGS = ("where", "stratify", "cross")
RANGE_KEYS = ("low", "high", "scale", "integer")

Configuration: TypeAlias = dict[str, Scalar]


@dataclass(frozen=True)
class Space:
    """A parsed and checked search space."""

    options: Options
    conditions: tuple[Condition, ...]
    stratify: tuple[str, ...]
    cross: tuple[str, ...]
    display_order: tuple[str, ...]
    """Names of all options in the order of the file."""
    data: Mapping[str, Any]
    """Contents of the file: the space's part of a study's document."""

    def size(self) -> int | None:
        """Number of configurations before any condition; None for a continuous space."""
        return self.options.size()

    def allowed(self) -> int | None:
        """Number of configurations that satisfy the conditions; None if continuous or too many to count."""
        return self._allowed

    @cached_property
    def _allowed(self) -> int | None:
        return self._count(self.options)

    def stratum_sizes(self) -> list[tuple[Configuration, int]] | None:
        """The choices of each stratum with the number of its configurations that satisfy the conditions.

        None without `stratify`, and where the configurations cannot be counted; a stratum without any is left out.
        """
        if not self.stratify:
            return None
        pools = [self.options.levels(name) for name in self.stratify]
        strata = [dict(zip(self.stratify, choices, strict=True)) for choices in itertools.product(*pools)]
        sizes = [self._count(self.options.fixed(choices)) for choices in strata]
        if any(size is None for size in sizes):
            return None
        return [(choices, size) for choices, size in zip(strata, sizes, strict=True) if size]

    def _count(self, options: Options) -> int | None:
        size = options.size()
        if size is None or not self.conditions:
            return size
        accepted = self._accepted(options)
        return None if accepted is None else sum(part.multiplicity for part in accepted)

    def possible(self, options: Options) -> bool:
        """Whether any of these options' configurations satisfies the conditions; True if there are too many to try."""
        accepted = self._accepted(options)
        return accepted is None or any(True for _ in accepted)

    def _accepted(self, options: Options) -> Iterator[Fragment] | None:
        """Combinations of the options in the conditions that satisfy them; None if there are too many to try."""
        names = frozenset(itertools.chain.from_iterable(condition.names for condition in self.conditions))
        parts = options.projected_size(names)
        work = None if parts is None else parts * sum(condition.terms for condition in self.conditions)
        if parts is None or work is None or parts > COUNTABLE or work > MOST_WORK:
            return None
        return (part for part in options.fragments(names) if self.accepts(part.values))

    def depends_on(self, name: str) -> set[str]:
        """Names of the options on which the distribution of an option depends by design.

        These are the choices under which it lies, the options that a condition mentions together with it, and the
        stratified ones. Options under its own choices are part of its effect and never among them.
        """
        together = (condition.names for condition in self.conditions if name in condition.names)
        others = self.options.above(name).union(self.stratify, *together)
        return {other for other in others if other != name and name not in self.options.above(other)}

    def accepts(self, configuration: Mapping[str, Any]) -> bool:
        """Whether a configuration satisfies every condition."""
        return all(condition.holds(configuration) for condition in self.conditions)

    def in_order(self, configuration: Mapping[str, Scalar]) -> Configuration:
        """The same configuration with its keys in the order of the file."""
        return {name: configuration[name] for name in self.display_order if name in configuration}

    def draw(self, strategy: str, count: int | None, seed: int | str) -> list[Configuration]:
        """Draw the first `count` configurations (None for a whole grid); the first n are the same for every count."""
        from robustness.space.samplers import draw  # here, because samplers imports this module

        return draw(self, strategy, count, seed)


EMPTY = Space(Options(()), (), (), (), (), {})
"""The space of a study whose arms share no hyperparameters."""


def merged(shared: Space, own: Space) -> Space:
    """The space of an arm: what all arms share, and its own options, none of which both have."""
    joined: dict[str, Any] = {**shared.data, **own.data}
    for key in SETTINGS:
        entries = [space.data[key] for space in (shared, own) if key in space.data]
        if entries:
            joined[key] = [part for entry in entries for part in (entry if isinstance(entry, list) else [entry])]
    return _read(joined)


def read_space(data: object, source: str) -> Space:
    """Build a space from plain data (of a YAML file); error messages start with `source`."""
    try:
        return _read(data)
    except SearchSpaceError as error:
        raise SearchSpaceError(f"{source}: {error}") from None


def _read(data: object) -> Space:
    if not isinstance(data, Mapping):
        raise SearchSpaceError(f"a search space is a mapping of options, found {shown(data)}")
    options = {name: option for name, option in data.items() if name not in SETTINGS}
    for name, option in options.items():
        _check_misspelt_setting(name, option, options)
    if not options:
        raise SearchSpaceError("the search space has no options")
    order: dict[str, None] = {}
    tree = _read_options(options, "", order)
    check("space_options", len(order), "the search space", SearchSpaceError)
    conditions = data.get("where")
    texts = conditions if isinstance(conditions, list) else [] if "where" not in data else [conditions]
    values = list(_choices_in(tree))
    return Space(
        options=tree,
        conditions=tuple(read_condition(text, order, values) for text in texts),
        stratify=_read_factors("stratify", data, tree, order),
        cross=_read_factors("cross", data, tree, order),
        display_order=tuple(order),
        data=dict(data),
    )


def _check_misspelt_setting(name: str, option: object, options: Mapping[str, object]) -> None:
    """Catch `wehre: a < b`, which would be read as a constant option with that name."""
    closest = get_close_matches(str(name), SETTINGS, n=1, cutoff=0.7)
    words = option if isinstance(option, list) else [option]
    names_options = all(isinstance(word, str) and word in options for word in words)
    is_condition = any(isinstance(word, str) and any(sign in word for sign in "<>=") for word in words)
    if closest and (names_options or is_condition):
        raise SearchSpaceError(f"unknown key {shown(name)}; did you mean {closest[0]!r}?")


def _read_options(data: Mapping[str, object], path: str, order: dict[str, None]) -> Options:
    items: dict[str, Option] = {}
    seen: set[str] = set()
    for name, entry in data.items():
        here = f"{path}{name}"
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise SearchSpaceError(f"{here}: an option's name consists of letters, digits and _, found {shown(name)}")
        if path and name in SETTINGS:
            raise SearchSpaceError(f"{here}: {name!r} belongs at the top level of a search space, not under a choice")
        order.setdefault(name)
        items[name] = option = _read_option(entry, here, order)
        below = option.names() if isinstance(option, Branches) else set()
        if name in below:
            raise SearchSpaceError(f"{here}: the option {name!r} appears again under one of its choices")
        for duplicate in sorted(seen & {name, *below}):
            raise SearchSpaceError(f"{here}: the option {duplicate!r} appears in two places that can both be chosen")
        seen |= {name, *below}
    return Options(tuple(sorted(items.items())))


def _read_option(entry: object, path: str, order: dict[str, None]) -> Option:
    if isinstance(entry, list):
        return _read_choices(entry, path)
    if not isinstance(entry, Mapping):
        return Constant(_scalar(entry, path))
    if not entry:
        raise SearchSpaceError(f"{path}: has neither choices nor a range")
    check("space_choices", len(entry), path, SearchSpaceError)
    if any(key in entry and not isinstance(entry[key], Mapping) for key in ("low", "high")):
        return _read_range(entry, path)
    branches: list[tuple[str, Options]] = []
    for choice, below in entry.items():
        if below is not None and not isinstance(below, Mapping):
            raise SearchSpaceError(
                f"{path}.{choice}: the options under a choice are a mapping, found {shown(below)} "
                "(a range is written {low: ..., high: ...})"
            )
        branches.append((choice, _read_options(below or {}, f"{path}.{choice}.", order)))
    return Branches(tuple(sorted(branches)))


def _read_choices(values: Sequence[object], path: str) -> Choices:
    if not values:
        raise SearchSpaceError(f"{path}: the list of choices is empty")
    check("space_choices", len(values), path, SearchSpaceError)
    scalars = tuple(_scalar(value, path) for value in values)
    seen: set[Scalar] = set()
    for value in scalars:
        if value in seen:
            raise SearchSpaceError(f"{path}: the choice {shown(value)} appears twice")
        seen.add(value)
    return Choices(scalars)


def _read_range(data: Mapping[str, object], path: str) -> Range:
    for key in data:
        if key not in RANGE_KEYS:
            raise SearchSpaceError(f"{path}.{key}: {unknown_name('key of a range', key, RANGE_KEYS)}")
    integer, scale = data.get("integer", False), data.get("scale", "linear")
    if not isinstance(integer, bool):
        raise SearchSpaceError(f"{path}.integer: must be true or false, found {shown(integer)}")
    if scale not in ("linear", "log"):
        raise SearchSpaceError(f"{path}.scale: {unknown_name('scale', scale, ('linear', 'log'))}")
    bounds: list[float] = []
    for key in ("low", "high"):
        value = data.get(key)
        if key not in data:
            raise SearchSpaceError(f"{path}.{key}: is missing: a range has low and high")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise SearchSpaceError(f"{path}.{key}: must be a number, found {shown(value)}")
        if integer and value != int(value):
            raise SearchSpaceError(f"{path}.{key}: must be an integer, since integer is true, found {shown(value)}")
        bounds.append(value)
    low, high = bounds
    if not low < high:
        raise SearchSpaceError(f"{path}: low must be less than high, found low {shown(low)} and high {shown(high)}")
    if scale == "log" and low <= 0:
        raise SearchSpaceError(f"{path}.low: must be positive on a log scale, found {shown(low)}")
    return Range(low, high, log=scale == "log", integer=integer)


def _scalar(value: object, path: str) -> Scalar:
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise SearchSpaceError(f"{path}: a choice is a number, a string, true, false or null, found {shown(value)}")


def _read_factors(key: str, data: Mapping[str, Any], tree: Options, names: Iterable[str]) -> tuple[str, ...]:
    """The options listed in `stratify` or `cross`, which must be categorical and at the top level of the space."""
    if key not in data:
        return ()
    factors = data[key] if isinstance(data[key], list) else [data[key]]
    top = dict(tree.items)
    for position, factor in enumerate(factors):
        if not isinstance(factor, str):
            raise SearchSpaceError(f"{key}: unknown option {shown(factor)}: an option's name is a string")
        if factor not in top:
            nested = " (only top-level options are allowed here)" if factor in names else ""
            raise SearchSpaceError(f"{key}: {unknown_name('option', factor, top)}{nested}")
        if not isinstance(top[factor], (Choices, Branches)):
            raise SearchSpaceError(f"{key}: {factor!r} has no list of choices")
        if factor in factors[:position]:
            raise SearchSpaceError(f"{key}: {factor!r} appears twice")
        if key == "cross" and factor in _read_factors("stratify", data, tree, names):
            raise SearchSpaceError(f"cross: {factor!r} is already stratified: choose one of the two")
    return tuple(factors)


def _choices_in(options: Options) -> Iterator[Scalar]:
    for _, option in options.items:
        if isinstance(option, Choices):
            yield from option.values
        elif isinstance(option, Branches):
            yield from (choice for choice, _ in option.branches)
            yield from itertools.chain.from_iterable(_choices_in(below) for _, below in option.branches)
