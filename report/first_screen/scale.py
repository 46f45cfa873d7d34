"""The axis of the first figure: its ends, its ticks, and where a value lies on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

PAD = 0.06
"""The share of the width left free at either end."""
LEAST_SIDE = 0.3
"""The share of the width that either side of zero has at least, which is room for its label on a telephone."""
MOST_TICKS = 6


@dataclass(frozen=True)
class Scale:
    """A linear axis."""

    low: float
    high: float
    step: float
    """The distance of its ticks."""

    @staticmethod
    def over(values: Iterable[float]) -> Scale:
        """The axis that shows zero and all values, with a little room beside them and on either side of zero."""
        shown = [0.0, *values]
        low, high = min(shown), max(shown)
        if low == high:
            low, high = low - 1.0, high + 1.0
        room = PAD * (high - low)
        ratio = LEAST_SIDE / (1 - LEAST_SIDE)
        left, right = room - low, high + room
        left, right = max(left, ratio * right), max(right, ratio * left)
        return Scale(-left, right, _step(left + right))

    def place(self, value: float) -> float:
        """Where a value lies, in per cent of the width."""
        return round(100 * (value - self.low) / (self.high - self.low), 3)

    @property
    def ticks(self) -> list[float]:
        """Round values, zero among them."""
        first, last = math.ceil(self.low / self.step), math.floor(self.high / self.step)
        return [place * self.step for place in range(first, last + 1)]


def _step(width: float) -> float:
    """The smallest of 1, 2 or 5 times a power of ten that yields few enough ticks."""
    power = 10.0 ** math.floor(math.log10(width / MOST_TICKS))
    return next(each * power for each in (1, 2, 5, 10) if width / (each * power) <= MOST_TICKS)
