"""Drawing from the spaces of single arms, beside the space that all arms share.

Configuration n of an arm is the shared draw n, equal for all arms, and a draw from the arm's own space, keyed by the
arm's label: another arm, or more configurations, change nothing. Where the shared space is finite and used up, it is
drawn again in a new order. No arm gets the same values twice: repeats of a shared draw take different own draws.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from robustness.errors import SearchSpaceError
from robustness.space.options import Scalar
from robustness.space.space import Configuration, Space


def draw_shared(space: Space, strategy: str, count: int, seed: int) -> list[Configuration]:
    """The first `count` draws of the shared space, in rounds if it has fewer; empty ones from an empty space."""
    if not space.options.items:
        return [{} for _ in range(count)]
    return _in_rounds(space, strategy, count, str(seed))


def draw_own(
    space: Space, shared: Space, draws: Sequence[Mapping[str, Scalar]], strategy: str, seed: int, label: str
) -> list[Configuration]:
    """The draw from an arm's own space beside each shared draw; raises SearchSpaceError if it has too few."""
    key = f"{seed}/arm {label}"
    try:
        if space.allowed() is None or not shared.options.items:
            return space.draw(strategy, len(draws), key)
        if shared.allowed() is None:
            # Shared draws never repeat, so own draws may.
            return _in_rounds(space, strategy, len(draws), key)
        names = [json.dumps(values, sort_keys=True) for values in draws]
        counts = Counter(names)
        own = {name: iter(space.draw(strategy, count, f"{key}/{name}")) for name, count in counts.items()}
        return [next(own[name]) for name in names]
    except SearchSpaceError as error:
        raise SearchSpaceError(f"the arm {label!r}: {error}") from None


def _in_rounds(space: Space, strategy: str, count: int, key: str) -> list[Configuration]:
    """Draws without repeats until the space is used up, then again in another order."""
    drawn: list[Configuration] = []
    number, size = 1, space.allowed()
    while len(drawn) < count:
        most = count - len(drawn) if size is None else min(count - len(drawn), size)
        drawn += space.draw(strategy, max(most, 1), key if number == 1 else f"{key}/round {number}")
        number += 1
    return drawn[:count]
