"""What the space in a stored study names, though its code or version may be another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robustness.errors import RobustnessError
from robustness.space.space import read_space


def names_in(space: Mapping[str, Any]) -> set[str]:
    """The options of a stored space; none if it cannot be read."""
    try:
        return read_space(space, "space").options.names()
    except RobustnessError:
        return set()


def in_space_order(names: list[str], space: object) -> list[str]:
    """Names as the search space lists them, options under a choice after it; others as they come."""
    order: list[str] = []

    def walk(options: object) -> None:
        if isinstance(options, Mapping):
            for name, option in options.items():
                order.append(str(name))
                if isinstance(option, Mapping):
                    for below in option.values():
                        walk(below)

    walk(space)
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))
