"""The options of a search space as a tree: count its configurations, list them, or look one up by a point.

Options and named choices are always visited in alphabetical order, so no draw depends on the order of keys in a file.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None


class Fragment(NamedTuple):
    """Part of a configuration, its probability in a draw from the top down, and how many configurations share it."""

    values: dict[str, Scalar]
    weight: float
    multiplicity: int


@dataclass(frozen=True)
class Constant:
    """An option with one value."""

    value: Scalar


@dataclass(frozen=True)
class Choices:
    """An option with several equally likely values."""

    values: tuple[Scalar, ...]


@dataclass(frozen=True)
class Range:
    """An option whose value is uniform between two bounds on a linear or log scale."""

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def at(self, u: float) -> float:
        """The value at the fraction u of the range, 0 <= u < 1; rounded to 12 digits, so that all machines agree."""
        low, high = (self.low - 0.5, self.high + 0.5) if self.integer else (self.low, self.high)
        value = math.exp(math.log(low) + u * (math.log(high) - math.log(low))) if self.log else low + u * (high - low)
        rounded = math.floor(value + 0.5) if self.integer else float(f"{value:.12g}")
        return min(max(rounded, int(self.low) if self.integer else float(self.low)), self.high)

    def listed(self) -> Iterator[tuple[int, float]]:
        """Each value of an integer range with its probability."""
        low, high = int(self.low), int(self.high)
        for value in range(low, high + 1):
            if self.log:
                width = math.log((value + 0.5) / (value - 0.5)) / math.log((high + 0.5) / (low - 0.5))
            else:
                width = 1 / (high - low + 1)
            yield value, width


@dataclass(frozen=True)
class Branches:
    """An option with equally likely named choices, each of which may have options that exist only under it."""

    branches: tuple[tuple[str, Options], ...]

    def names(self) -> set[str]:
        return set().union(*(below.names() for _, below in self.branches))


Option: TypeAlias = Constant | Choices | Range | Branches


@dataclass(frozen=True)
class Options:
    """Options that are drawn together, in alphabetical order."""

    items: tuple[tuple[str, Option], ...]

    def names(self) -> set[str]:
        """Names of all options, including those under a choice."""
        return {name for name, _ in self.items}.union(
            *(option.names() for _, option in self.items if isinstance(option, Branches))
        )

    def above(self, name: str) -> set[str]:
        """Names of the choices under which an option lies."""
        above: set[str] = set()
        for choice, option in self.items:
            if isinstance(option, Branches) and name in option.names():
                above |= {choice}.union(*(below.above(name) for _, below in option.branches))
        return above

    def size(self) -> int | None:
        """Number of configurations; None if a range makes the space continuous."""
        sizes = [_size(option) for _, option in self.items]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)

    def continuous(self) -> list[str]:
        """Names of the ranges that make the space continuous."""
        ranges: list[str] = []
        for name, option in self.items:
            if isinstance(option, Range) and not option.integer:
                ranges.append(name)
            elif isinstance(option, Branches):
                ranges += itertools.chain.from_iterable(below.continuous() for _, below in option.branches)
        return sorted(set(ranges))

    def levels(self, name: str) -> tuple[Scalar, ...]:
        """Choices of a categorical option."""
        option = dict(self.items)[name]
        if isinstance(option, Branches):
            return tuple(choice for choice, _ in option.branches)
        return option.values if isinstance(option, Choices) else ()

    def fixed(self, values: Mapping[str, Scalar]) -> Options:
        """The same options with some of them fixed to a single choice."""
        return Options(
            tuple((name, _fixed(option, values[name]) if name in values else option) for name, option in self.items)
        )

    def only(self, names: Collection[str]) -> Options:
        """The options with these names."""
        return Options(tuple(item for item in self.items if item[0] in names))

    def without(self, names: Collection[str]) -> Options:
        """The options with other names."""
        return Options(tuple(item for item in self.items if item[0] not in names))

    def fragments(self, names: Collection[str] | None = None) -> Iterator[Fragment]:
        """Every configuration of a finite space in order, restricted to the options in `names` unless that is None."""
        pools = [list(_fragments(name, option, names)) for name, option in self.items]
        for parts in itertools.product(*pools):
            values: dict[str, Scalar] = {}
            weight, multiplicity = 1.0, 1
            for part in parts:
                values.update(part.values)
                weight *= part.weight
                multiplicity *= part.multiplicity
            yield Fragment(values, weight, multiplicity)

    def projected_size(self, names: Collection[str]) -> int | None:
        """Number of fragments in `fragments(names)`; None if one of these options is continuous."""
        sizes = [_projected_size(name, option, names) for name, option in self.items]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)

    @cached_property
    def dimensions(self) -> int:
        """Dimension of a point; branches share coordinates, since only one of them is chosen."""
        return sum(_dimensions(option) for _, option in self.items)

    def at(self, point: Sequence[float]) -> dict[str, Scalar]:
        """The configuration at a point [dimensions] of the unit cube, choosing from the top down."""
        values: dict[str, Scalar] = {}
        position = 0
        for name, option in self.items:
            width = _dimensions(option)
            values.update(_at(name, option, point[position : position + width]))
            position += width
        return values


def _size(option: Option) -> int | None:
    match option:
        case Constant():
            return 1
        case Choices(values=values):
            return len(values)
        case Range():
            return int(option.high) - int(option.low) + 1 if option.integer else None
        case Branches(branches=branches):
            sizes = [below.size() for _, below in branches]
            return None if None in sizes else sum(size for size in sizes if size is not None)


def _fixed(option: Option, value: Scalar) -> Option:
    if isinstance(option, Branches):
        return Branches(tuple(branch for branch in option.branches if branch[0] == value))
    return Choices((value,))


def _fragments(name: str, option: Option, names: Collection[str] | None) -> Iterator[Fragment]:
    if names is not None and _irrelevant(name, option, names):
        yield Fragment({}, 1.0, _size(option) or 0)
        return
    match option:
        case Constant(value=value):
            yield Fragment({name: value}, 1.0, 1)
        case Choices(values=values):
            yield from (Fragment({name: value}, 1 / len(values), 1) for value in values)
        case Range():
            yield from (Fragment({name: number}, weight, 1) for number, weight in option.listed())
        case Branches(branches=branches):
            for choice, below in branches:
                for part in below.fragments(names):
                    yield Fragment({name: choice, **part.values}, part.weight / len(branches), part.multiplicity)


def _projected_size(name: str, option: Option, names: Collection[str]) -> int | None:
    if _irrelevant(name, option, names):
        return 1
    if isinstance(option, Branches):
        sizes = [below.projected_size(names) for _, below in option.branches]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    return _size(option)


def _irrelevant(name: str, option: Option, names: Collection[str]) -> bool:
    return name not in names and not (isinstance(option, Branches) and option.names() & set(names))


def _dimensions(option: Option) -> int:
    match option:
        case Constant():
            return 0
        case Choices(values=values):
            return int(len(values) > 1)
        case Range():
            return 1
        case Branches(branches=branches):
            return int(len(branches) > 1) + max(below.dimensions for _, below in branches)


def _at(name: str, option: Option, point: Sequence[float]) -> dict[str, Scalar]:
    match option:
        case Constant(value=value):
            return {name: value}
        case Choices(values=values):
            return {name: values[_index(point[0], len(values)) if len(values) > 1 else 0]}
        case Range():
            return {name: option.at(point[0])}
        case Branches(branches=branches):
            several = len(branches) > 1
            choice, below = branches[_index(point[0], len(branches)) if several else 0]
            return {name: choice, **below.at(point[int(several) :])}


def _index(u: float, count: int) -> int:
    return min(int(u * count), count - 1)
