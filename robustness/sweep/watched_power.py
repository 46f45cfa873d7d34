"""How many pairs a sweep with `stop` needs, from simulated sweeps: its evidence is read after every pair.

Differences of pairs are 1, -1 or 0 with the probabilities (psi + d) / 2, (psi - d) / 2 and 1 - psi, psi the share of
discordant pairs and d the difference. A simulated sweep decides after the first pair at which the e-process of the test
exceeds 1 / level, and not before `minimum_pairs`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robustness.errors import plural
from robustness.statistics.equivalence import equivalence_capital
from robustness.statistics.sequential import capital

if TYPE_CHECKING:
    from robustness.study.sections import Stop

POWER = 0.8
SWEEPS = 500
"""Simulated sweeps: the power they show has a standard error of at most 2 points."""
MOST_PAIRS = 500


def pairs_to_a_decision(
    difference: float, discordance: float, level: float, margin: float | None = None, most: int = MOST_PAIRS
) -> NDArray[np.float64]:
    """The pairs after which each simulated sweep shows a difference, or equivalence within the margin; inf: never."""
    uniform = np.random.default_rng(0).random((SWEEPS, most))
    values = np.where(uniform < discordance, -1.0, 0.0)
    values[uniform < (discordance + difference) / 2] = 1.0
    evidence = capital(values) if margin is None else equivalence_capital(values, margin)
    shown = evidence > 1 / level
    return np.where(shown.any(axis=-1), shown.argmax(axis=-1) + 1.0, math.inf)


def watched_lines(
    pairs: int,
    terms: Stop,
    comparisons: int,
    difference: float,
    discordance: float,
    margin: float | None,
    agreeing: float,
) -> dict[str, str]:
    """What `plan` says about a sweep with `stop`: the pairs that a difference takes and, with a margin, equivalence.

    Without `arms`, several comparisons are corrected; a level divided by their number is a lower bound of the power.
    """
    watched = 1 if terms.arms is not None else comparisons
    level = terms.level / watched
    discordance = max(discordance, difference)
    needed = pairs_to_a_decision(difference, discordance, level)
    of = f" / {watched}" if watched > 1 else ""
    lines = {
        "sample size": f"a difference of {difference:.2f} {_needs(needed, pairs, terms)} (evidence read after every "
        f"pair at {100 * terms.level:g} %{of}; assuming that the arms disagree in {100 * discordance:g} % of the pairs)"
    }
    if margin is not None:
        needed = pairs_to_a_decision(0.0, agreeing, level, margin)
        lines["equivalence"] = (
            f"within {100 * margin:g} points {_needs(needed, pairs, terms)} (if arms that do not differ disagree in "
            f"{100 * agreeing:g} % of the pairs)"
        )
    return lines


def _needs(needed: NDArray[np.float64], pairs: int, terms: Stop) -> str:
    ends = np.maximum(needed, terms.minimum_pairs)
    enough = float(np.quantile(ends, POWER, method="inverted_cdf"))
    power = float((ends <= pairs).mean())
    count = f"more than {MOST_PAIRS}" if math.isinf(enough) else f"{enough:.0f}"
    return (
        f"takes {count} pairs for {100 * POWER:.0f} % power; {plural(pairs, 'pair')} "
        f"{'has' if pairs == 1 else 'have'} {100 * power:.0f} %"
    )
