"""The hyperparameters of configurations as columns of a frame: their names, values and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from robustness.errors import RobustnessError
from robustness.space.space import read_space


def own_column(arm: str, name: str) -> str:
    """The column of a hyperparameter from the space of a single arm."""
    return f"{arm}: {name}"


def drawn_frame(stored: pd.DataFrame, names: Sequence[str], document: Mapping[str, Any]) -> pd.DataFrame:
    """The hyperparameters of each configuration, by its number; those of a single arm in a column that names it."""
    own = {str(arm["label"]): names_in(arm["space"]) for arm in document["arms"] if arm.get("space")}
    apart = set().union(*own.values()) if own else set()
    drawn = stored.drop_duplicates("configuration").set_index("configuration").sort_index()
    shared = drawn[[name for name in names if name not in apart]]
    columns = {
        own_column(arm, name): rows[name]
        for arm, own_names in own.items()
        for rows in [stored[stored["arm"] == arm].drop_duplicates("configuration").set_index("configuration")]
        for name in names
        if name in own_names and name in rows
    }
    return shared.assign(**columns) if columns else shared


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
