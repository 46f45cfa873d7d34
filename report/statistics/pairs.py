"""Two arms over the same configurations: does one show an outcome more often than the other?

A pair shows it in both arms (`both`), in the first only, in the second only, or in neither.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import binomtest

from report.statistics.proportions import wilson


@dataclass(frozen=True)
class PairCounts:
    """How many pairs show an outcome where."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def pairs(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def difference(self) -> float:
        """The fraction of the first arm minus that of the second; NaN without pairs."""
        return (self.first_only - self.second_only) / self.pairs if self.pairs else math.nan


def exact_mcnemar(counts: PairCounts) -> float:
    """The two-sided p value of no difference: a fair coin for each pair in which the arms disagree."""
    discordant = counts.first_only + counts.second_only
    return 1.0 if discordant == 0 else float(binomtest(counts.first_only, discordant).pvalue)


def paired_difference_interval(counts: PairCounts, level: float = 0.95) -> tuple[float, float]:
    """Newcombe's interval (1998, method 10) for the difference of two paired fractions; (-1, 1) without pairs.

    With fractions p1, p2, their Wilson limits l and u, and phi, the correlation of the two outcomes with a continuity
    correction where it is positive:

        low  = p1 - p2 - sqrt((p1 - l1)^2 - 2 phi (p1 - l1)(u2 - p2) + (u2 - p2)^2)
        high = p1 - p2 + sqrt((u1 - p1)^2 - 2 phi (u1 - p1)(p2 - l2) + (p2 - l2)^2)
    """
    n = counts.pairs
    if n == 0:
        return -1.0, 1.0
    first, second = counts.both + counts.first_only, counts.both + counts.second_only
    p1, p2 = first / n, second / n
    l1, u1 = wilson(first, n, level)
    l2, u2 = wilson(second, n, level)
    phi = _correlation(counts, first, second)
    low = _joined(p1 - l1, u2 - p2, phi)
    high = _joined(u1 - p1, p2 - l2, phi)
    difference = p1 - p2
    return max(difference - low, -1.0), min(difference + high, 1.0)


def _joined(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(one**2 - 2 * phi * one * other + other**2, 0.0))


def _correlation(counts: PairCounts, first: int, second: int) -> float:
    n = counts.pairs
    margins = first * (n - first) * second * (n - second)
    if margins == 0:
        return 0.0
    product = float(counts.both * counts.neither - counts.first_only * counts.second_only)
    if product > 0:
        product = max(product - n / 2, 0.0)
    return product / math.sqrt(margins)
