"""How large a paired difference a study can find, by the exact power of McNemar's test.

Of n pairs, m ~ Binomial(n, psi) are discordant (the outcome holds for one arm only), and of those b ~ Binomial(m, q)
are so for the first arm, with psi = discordance and q = (1 + difference / psi) / 2. The exact two-sided test rejects
when 2 P(Binomial(m, 1/2) <= min(b, m - b)) <= level, so

    power = sum_m P(m) P(min(b, m - b) <= c_m),   c_m the largest count at which the test rejects.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

LEVEL = 0.05
POWER = 0.8
DISCORDANCE = 0.5
"""Half of the pairs discordant: about what the paper's study had (0.61), on the side of caution."""
MOST_PAIRS = 100_000


def mcnemar_power(pairs: int, difference: float, discordance: float, level: float = LEVEL) -> float:
    """The chance that the exact two-sided McNemar test rejects; difference and discordance are shares of the pairs."""
    share = (1 + difference / discordance) / 2
    low, high = stats.binom.interval(1 - 1e-12, pairs, discordance)
    discordant = np.arange(int(low), int(high) + 1)
    critical = stats.binom.ppf(level / 2, discordant, 0.5)
    # ppf gives the least count whose probability reaches level / 2: reject at it only if it is met exactly.
    critical = np.where(2 * stats.binom.cdf(critical, discordant, 0.5) <= level, critical, critical - 1)
    rejects = stats.binom.cdf(critical, discordant, share) + stats.binom.sf(
        discordant - critical - 1, discordant, share
    )
    return float(np.sum(stats.binom.pmf(discordant, pairs, discordance) * rejects))


def smallest_difference(pairs: int, discordance: float = DISCORDANCE, power: float = POWER) -> float | None:
    """The smallest difference found with this power, to 0.001; None if not even a difference in every pair would be.

    Where the difference is greater than the discordance, the discordance is the difference: all of one sign.
    """
    low, high = 0.0, 1.0
    if mcnemar_power(pairs, 1.0, 1.0) < power:
        return None
    while high - low > 0.0005:
        middle = (low + high) / 2
        found = mcnemar_power(pairs, middle, max(discordance, middle)) >= power
        low, high = (low, middle) if found else (middle, high)
    return math.ceil(high * 1000) / 1000


def pairs_needed(difference: float, discordance: float = DISCORDANCE, power: float = POWER) -> int | None:
    """How many pairs find this difference with this power; None if more than 100,000."""
    discordance = max(discordance, difference)
    low, high = 0, 8
    while mcnemar_power(high, difference, discordance) < power:
        if high >= MOST_PAIRS:
            return None
        low, high = high, min(2 * high, MOST_PAIRS)
    while high - low > 1:
        middle = (low + high) // 2
        enough = mcnemar_power(middle, difference, discordance) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def sample_size_line(pairs: int, outcome: str, difference: float, discordance: float = DISCORDANCE) -> str:
    """In one sentence, what so many pairs can find and how many a given difference needs, with what is assumed."""
    smallest = smallest_difference(pairs, discordance)
    needed = pairs_needed(difference, discordance)
    if smallest is None:
        can = f"{pairs} {_pairs(pairs)} can find no difference with {100 * POWER:.0f} % power"
    else:
        can = f"{pairs} {_pairs(pairs)} find a difference of {smallest:.2f} or more with {100 * POWER:.0f} % power"
    need = f"more than {MOST_PAIRS:,}" if needed is None else f"{needed}"
    return (
        f"{can}, and a difference of {difference:.2f} needs {need} pairs (difference between two arms' fractions of "
        f"{outcome!r}; exact two-sided McNemar test at {100 * LEVEL:.0f} %, supposing that the arms disagree in "
        f"{100 * discordance:.0f} % of the pairs, or in as many as the difference takes)"
    )


def _pairs(count: int) -> str:
    return "pair" if count == 1 else "pairs"
