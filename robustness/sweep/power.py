"""Smallest paired difference that a study can detect, from the exact power of McNemar's test.

Of n pairs, m ~ Binomial(n, psi) are discordant (only one arm has the outcome), and in b ~ Binomial(m, q) of those it is
the first arm, with psi = discordance and q = (1 + difference / psi) / 2. The exact two-sided test rejects
if 2 P(Binomial(m, 1/2) <= min(b, m - b)) <= level, so

    power = sum_m P(m) P(min(b, m - b) <= c_m),   c_m the largest count at which the test rejects.
"""

from __future__ import annotations

import math

import numpy as np

from robustness.statistics import binomial

LEVEL = 0.05
POWER = 0.8
DISCORDANCE = 0.5
"""Assumed share of discordant pairs, a little below that of the paper's study (0.61)."""
MOST_PAIRS = 100_000


def mcnemar_power(pairs: int, difference: float, discordance: float, level: float = LEVEL) -> float:
    """Power of the exact two-sided McNemar test; difference and discordance are shares of the pairs."""
    share = (1 + difference / discordance) / 2
    low, high = (binomial.quantile(q, pairs, discordance) for q in (5e-13, 1 - 5e-13))
    discordant = np.arange(int(low), int(high) + 1)
    critical = binomial.quantile(level / 2, discordant, 0.5)
    # It is the smallest count with cdf >= level / 2; the test rejects there only if they are equal.
    critical = np.where(2 * binomial.cdf(critical, discordant, 0.5) <= level, critical, critical - 1)
    rejects = binomial.cdf(critical, discordant, share) + binomial.sf(discordant - critical - 1, discordant, share)
    return float(np.sum(binomial.pmf(discordant, pairs, discordance) * rejects))


def smallest_difference(pairs: int, discordance: float = DISCORDANCE, power: float = POWER) -> float | None:
    """Smallest difference detectable with this power, to 0.001; None if even a difference of 1 is not.

    Where the difference exceeds the discordance, the discordance is taken to be the difference.
    """
    low, high = 0.0, 1.0
    if mcnemar_power(pairs, 1.0, 1.0) < power:
        return None
    while high - low > 0.0005:
        middle = (low + high) / 2
        detected = mcnemar_power(pairs, middle, max(discordance, middle)) >= power
        low, high = (low, middle) if detected else (middle, high)
    return math.ceil(high * 1000) / 1000


def pairs_needed(difference: float, discordance: float = DISCORDANCE, power: float = POWER) -> int | None:
    """Number of pairs needed to detect this difference with this power; None if more than 100,000."""
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
    """Describe the difference that `pairs` pairs detect and how many pairs `difference` needs, with assumptions."""
    smallest = smallest_difference(pairs, discordance)
    needed = pairs_needed(difference, discordance)
    if smallest is None:
        can = f"{pairs} {_pairs(pairs)} cannot detect any difference with {100 * POWER:.0f} % power"
    else:
        can = f"{pairs} {_pairs(pairs)} detect a difference of {smallest:.2f} or more with {100 * POWER:.0f} % power"
    need = f"more than {MOST_PAIRS:,}" if needed is None else f"{needed}"
    return (
        f"{can}, and a difference of {difference:.2f} needs {need} pairs (difference between two arms' fractions of "
        f"{outcome!r}; exact two-sided McNemar test at {100 * LEVEL:.0f} %, assuming that the arms disagree in "
        f"{100 * discordance:.0f} % of the pairs, or in more if the difference requires it)"
    )


def _pairs(count: int) -> str:
    return "pair" if count == 1 else "pairs"
