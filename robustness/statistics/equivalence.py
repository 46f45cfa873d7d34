"""Equivalence and non-inferiority within a margin: two one-sided tests, each of them that of the report's intervals.

A difference d is equivalent to zero within a margin m if both one-sided tests reject at 5 % (Schuirmann 1987),

    d <= -m   against   d > -m,        d >= m   against   d < m,

which holds exactly if the 90 % interval of d lies strictly within (-m, m). The p-value is the larger of the two. For
paired fractions the tests are Tango's scores at -m and m (`score_test`), for means those of `means` at -m and m. Where
all discordant pairs are to one side, the score's p-value is too small; there b - c is Binomial(n, m) at the edge, and
the larger of P(Binomial(n, m) <= b - c) and the score's p-value counts.
Non-inferiority is one of the two alone: the first arm is not worse than the second by as much as m.

The verdict has three values. A difference that is significant *and* shown to be smaller than the margin counts as
`equivalent`: the margin says which differences matter, and this one is below it. Its p-values show both.

For a sweep that is looked at after every configuration, `equivalence_capital` bets against d = -m and d = m from the
inside (`sequential`). Each of the two is an e-process, so the smaller one is an e-process of the union of d <= -m and
d >= m: it ever reaches 1 / a with probability at most a if the arms are not equivalent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics import binomial
from robustness.statistics.clusters import discordance
from robustness.statistics.means import mean_test, one_sided_p
from robustness.statistics.proportions import Interval
from robustness.statistics.score_test import score_interval, score_p
from robustness.statistics.sequential import one_sided_capital

Verdict: TypeAlias = Literal["different", "equivalent", "undecided"]

LEVEL = 0.05
INSIDE = 0.90
"""The level of the interval that lies within the margin exactly if both one-sided tests reject at 5 %."""
MOST_PAIRS = 20_000


@dataclass(frozen=True)
class Equivalence:
    """The tests that a difference, first minus second, lies within a margin; None where they cannot be computed."""

    margin: float
    interval: Interval
    """The 90 % interval of the difference."""
    p_above: float | None
    """Of the test against d > -margin: small if the first arm is not lower by as much as the margin."""
    p_below: float | None
    """Of the test against d < margin: small if the first arm is not higher by as much as the margin."""

    @property
    def p_value(self) -> float | None:
        """Of equivalence: the larger of the two."""
        return None if self.p_above is None or self.p_below is None else max(self.p_above, self.p_below)


def fraction_equivalence(first: ArrayLike, second: ArrayLike, owners: ArrayLike, margin: float) -> Equivalence:
    """Test whether two paired fractions are within the margin; arguments as in `paired.paired_test`."""
    return counts_equivalence(*discordance(first, second, owners), margin)


def counts_equivalence(only_first: float, only_second: float, pairs: float, margin: float) -> Equivalence:
    """The same from the counts of a table, which need not be integers."""
    _check(margin)
    counts = (only_first, only_second, pairs)
    above, below = _one_sided(*counts, margin)
    return Equivalence(margin, _within(score_interval(*counts, INSIDE), margin, above, below), above, below)


def mean_equivalence(values: ArrayLike, margin: float) -> Equivalence:
    """Test whether the mean of differences [configurations] is within the margin."""
    _check(margin)
    sample: NDArray[np.float64] = np.asarray(values, dtype=float)
    interval = mean_test(sample, INSIDE).interval
    if math.isnan(interval.low):
        return Equivalence(margin, interval, None, None)
    above, below = one_sided_p(sample + margin, "greater"), one_sided_p(sample - margin, "less")
    return Equivalence(margin, _within(interval, margin, above, below), above, below)


def verdict(p_different: float | None, p_equivalent: float | None, level: float = LEVEL) -> Verdict:
    """The verdict from the p-values of no difference and of equivalence, both corrected alike."""
    if p_equivalent is not None and p_equivalent < level:
        return "equivalent"
    return "different" if p_different is not None and p_different < level else "undecided"


def pairs_for_equivalence(only_first: int, only_second: int, margin: float, level: float = LEVEL) -> int | None:
    """Smallest number of pairs that shows equivalence with these discordant ones; None above 20,000."""
    low, high = only_first + only_second, max(8, only_first + only_second)

    def shown(pairs: int) -> bool:
        p_value = counts_equivalence(only_first, only_second, pairs, margin).p_value
        return p_value is not None and p_value < level

    while not shown(high):
        if high >= MOST_PAIRS:
            return None
        low, high = high, min(2 * high, MOST_PAIRS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


def equivalence_power(pairs: int, discordant: float, margin: float, level: float = LEVEL) -> float:
    """Probability of showing equivalence if the arms do not differ and disagree in this share of the pairs.

    sum_m P(Binomial(pairs, discordant) = m) sum_b P(Binomial(m, 1/2) = b) [table (b, m - b) shows equivalence].
    """
    total = 0.0
    for m in range(pairs + 1):
        weight = float(binomial.pmf(m, pairs, discordant))
        if weight < 1e-10:
            if m > pairs * discordant:
                break
            continue
        # The more unequal the discordant pairs, the larger the p-value: equivalence holds between two counts.
        if not _shows(m // 2, m - m // 2, pairs, margin, level):
            continue
        least = _least(m, pairs, margin, level)
        inside = 1.0 if m == 0 else 1 - 2 * float(binomial.cdf(least - 1, m, 0.5))
        total += weight * inside
    return total


def pairs_needed_for_equivalence(
    discordant: float, margin: float, power: float = 0.8, level: float = LEVEL
) -> int | None:
    """Pairs that show equivalence with this power if the arms do not differ; None above 20,000."""
    low, high = 0, 16
    while equivalence_power(high, discordant, margin, level) < power:
        if high >= MOST_PAIRS:
            return None
        low, high = high, min(2 * high, MOST_PAIRS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if equivalence_power(middle, discordant, margin, level) >= power else (middle, high)
    return high


def equivalence_capital(values: ArrayLike, margin: float) -> NDArray[np.float64]:
    """The e-process of equivalence after each of the differences [..., n] in [-1, 1]."""
    _check(margin)
    sample: NDArray[np.float64] = np.asarray(values, dtype=float)
    return np.minimum(one_sided_capital(sample, -margin, "up"), one_sided_capital(sample, margin, "down"))


def _least(m: int, pairs: int, margin: float, level: float) -> int:
    """The smallest b whose table (b, m - b) shows equivalence, if the most balanced one does."""
    low, high = -1, m // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _shows(middle, m - middle, pairs, margin, level) else (middle, high)
    return high


def _shows(only_first: int, only_second: int, pairs: int, margin: float, level: float) -> bool:
    return max(_one_sided(only_first, only_second, pairs, margin)) < level


def _one_sided(only_first: float, only_second: float, pairs: float, margin: float) -> tuple[float, float]:
    """The p-values against d > -margin and d < margin: the score's, or the exact one if that is larger.

    The exact one is of the case that all discordant pairs are to one side, whose number is Binomial(n, margin).
    """
    counts, difference = (only_first, only_second, pairs), only_first - only_second
    exact = [float(binomial.cdf(sign * difference, pairs, margin)) for sign in (-1, 1)]
    return (
        max(score_p(*counts, -margin, "greater"), exact[0]),
        max(score_p(*counts, margin, "less"), exact[1]),
    )


def _within(interval: Interval, margin: float, above: float, below: float) -> Interval:
    """The interval, within the margin at an end exactly if its test rejects: rounding must not part the two."""
    tail = round((1 - INSIDE) / 2, 12)
    inner = math.nextafter(margin, 0.0)
    low = max(interval.low, -inner) if above < tail else min(interval.low, -margin)
    high = min(interval.high, inner) if below < tail else max(interval.high, margin)
    return Interval(low, high, interval.method)


def _check(margin: float) -> None:
    if not margin > 0:
        raise ValueError(f"a margin must be positive, found {margin}")
