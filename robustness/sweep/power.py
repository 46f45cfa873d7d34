"""Smallest paired difference that a study can detect, from the exact power of the score test that the report prints.

Of n pairs, m ~ Binomial(n, psi) are discordant (only one arm has the outcome), and in b ~ Binomial(m, q) of those it is
the first arm, with psi = discordance and q = (1 + difference / psi) / 2. The two-sided score test of the difference
(McNemar 1947, Tango 1998) rejects if |b - (m - b)| >= z sqrt(m), z the normal quantile of 1 - level / 2, so

    power = sum_m P(m) P(min(b, m - b) <= c_m),   c_m = floor((m - z sqrt(m)) / 2),

summed over all m: no approximation beside the test's own. With several comparisons the report corrects by Holm, whose
first step tests at level / comparisons. Power at that level is a lower bound: later steps test at higher ones.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from robustness.errors import plural
from robustness.statistics import binomial
from robustness.statistics.equivalence import (
    equivalence_power,
    pairs_for_equivalence,
    pairs_needed_for_equivalence,
)

LEVEL = 0.05
POWER = 0.8
DISCORDANCE = 0.5
"""Assumed share of discordant pairs, a little below that of the paper's study (0.61)."""
MOST_PAIRS = 100_000


def score_test_power(pairs: int, difference: float, discordance: float, level: float = LEVEL) -> float:
    """Power of the two-sided score test; difference and discordance are shares of the pairs."""
    share = (1 + difference / discordance) / 2
    low, high = (binomial.quantile(q, pairs, discordance) for q in (5e-13, 1 - 5e-13))
    discordant = np.arange(int(low), int(high) + 1)
    z = float(ndtri(1 - level / 2))
    # Without discordant pairs nothing is rejected, nor where even the most extreme count is not enough.
    critical = np.where(discordant > 0, np.floor((discordant - z * np.sqrt(discordant)) / 2), -1.0)
    rejects = binomial.cdf(critical, discordant, share) + binomial.sf(discordant - critical - 1, discordant, share)
    return float(np.sum(binomial.pmf(discordant, pairs, discordance) * rejects))


def smallest_difference(
    pairs: int, discordance: float = DISCORDANCE, power: float = POWER, level: float = LEVEL
) -> float | None:
    """Smallest difference detectable with this power, to 0.001; None if even a difference of 1 is not.

    Where the difference exceeds the discordance, the discordance is taken to be the difference.
    """
    low, high = 0.0, 1.0
    if score_test_power(pairs, 1.0, 1.0, level) < power:
        return None
    while high - low > 0.0005:
        middle = (low + high) / 2
        detected = score_test_power(pairs, middle, max(discordance, middle), level) >= power
        low, high = (low, middle) if detected else (middle, high)
    return math.ceil(high * 1000) / 1000


def pairs_needed(
    difference: float, discordance: float = DISCORDANCE, power: float = POWER, level: float = LEVEL
) -> int | None:
    """Number of pairs needed to detect this difference with this power; None if more than 100,000."""
    discordance = max(discordance, difference)
    low, high = 0, 8
    while score_test_power(high, difference, discordance, level) < power:
        if high >= MOST_PAIRS:
            return None
        low, high = high, min(2 * high, MOST_PAIRS)
    while high - low > 1:
        middle = (low + high) // 2
        enough = score_test_power(middle, difference, discordance, level) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high


def sample_size_line(
    pairs: int, outcome: str, difference: float, discordance: float = DISCORDANCE, comparisons: int = 1
) -> str:
    """Describe the difference that `pairs` pairs detect and how many pairs `difference` needs, with assumptions.

    `comparisons` is the number of comparisons that Holm's correction is over.
    """
    level = LEVEL / comparisons
    smallest = smallest_difference(pairs, discordance, level=level)
    needed = pairs_needed(difference, discordance, level=level)
    if smallest is None:
        can = f"{plural(pairs, 'pair')} cannot detect any difference with {100 * POWER:.0f} % power"
    else:
        verb = "detects" if pairs == 1 else "detect"
        can = f"{plural(pairs, 'pair')} {verb} a difference of {smallest:.2f} or more with {100 * POWER:.0f} % power"
    need = f"more than {MOST_PAIRS:,}" if needed is None else f"{needed}"
    correction = (
        f" / {comparisons} = {100 * level:.2g} %, the first step of Holm's correction over {comparisons} comparisons, "
        "which is conservative"
        if comparisons > 1
        else ""
    )
    return (
        f"{can}, and a difference of {difference:.2f} needs {need} pairs (difference between two arms' fractions of "
        f"{outcome!r}; two-sided score test at {100 * LEVEL:.0f} %{correction}; assuming that the arms disagree in "
        f"{100 * discordance:.0f} % of the pairs, or in more if the difference requires it)"
    )


AGREEING = 0.05
"""Assumed share of discordant pairs of arms that do not differ."""


def equivalence_line(pairs: int, margin: float, assumed: float = AGREEING) -> str:
    """Describe how many pairs show that two arms are equivalent within the margin, and with what probability.

    `assumed` is the share of discordant pairs of arms that do not differ.
    """
    least = pairs_for_equivalence(0, 0, margin)
    needed = pairs_needed_for_equivalence(assumed, margin, POWER)
    power = equivalence_power(pairs, assumed, margin)
    return (
        f"within {100 * margin:g} points takes {least} pairs without a discordant one, and "
        f"{'too many to count' if needed is None else needed} for {100 * POWER:.0f} % power if arms that do not differ "
        f"disagree in {100 * assumed:g} % of the pairs; {plural(pairs, 'pair')} "
        f"{'has' if pairs == 1 else 'have'} {100 * power:.0f} %"
    )
