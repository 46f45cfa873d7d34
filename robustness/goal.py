"""The goal of a metric: whether it is maximised or minimised. Nothing else in the project knows which way is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

GoalName: TypeAlias = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Goal:
    """A direction: values are numbers or arrays of any kind."""

    name: GoalName

    @property
    def minimizes(self) -> bool:
        return self.name == "minimize"

    @property
    def word(self) -> str:
        """`higher` or `lower`, whichever is better."""
        return "lower" if self.minimizes else "higher"

    @property
    def extreme(self) -> str:
        """`highest` or `lowest`, whichever is best."""
        return "lowest" if self.minimizes else "highest"

    def oriented(self, value: Any) -> Any:
        """The value with a sign by which more is better; applied twice, the value itself."""
        return -value if self.minimizes else value

    def better(self, value: Any, other: Any) -> Any:
        """Whether a value is better than another."""
        return value < other if self.minimizes else value > other

    def at_least_as_good(self, value: Any, other: Any) -> Any:
        """Whether a value is better than another or equal."""
        return value <= other if self.minimizes else value >= other

    def best(self, values: Iterable[float], default: float | None = None) -> Any:
        """The best of some numbers; `default` if there are none."""
        return min(values, default=default) if self.minimizes else max(values, default=default)

    def worst(self, values: Iterable[float], default: float | None = None) -> Any:
        """The worst of some numbers; `default` if there are none."""
        return max(values, default=default) if self.minimizes else min(values, default=default)


MAXIMIZE, MINIMIZE = Goal("maximize"), Goal("minimize")


def find_goal(name: str | None) -> Goal:
    """The goal of that name; by default, more is better."""
    return MINIMIZE if name == "minimize" else MAXIMIZE


def goal_in(document: Mapping[str, Any]) -> Goal:
    """The goal of a study's metric, from its stored document."""
    return find_goal(document["outcomes"].get("goal"))
