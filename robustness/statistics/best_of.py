"""Which arm wins at a given budget: the probability that the best of n trials of A beats the best of m of B.

Each arm tunes on its own random configurations. With N scores of each arm, and R_n(c) = C(c, n) / C(N, n) the
probability that the n drawn are among the c lowest (without replacement, as in `budget`),

    P = sum_x [R_n(a(x)) - R_n(a(x-))] [R_m(b(x-)) + R_m(b(x))] / 2,

where a(x) and b(x) count the scores up to x and a(x-) those below it: ties count half. The interval is a jackknife over
configurations on the logit scale, which keeps the arms paired. Where P is 0 or 1, would be without one configuration,
or is beyond 99 % or 1 %, it rests on a few configurations, and neither they nor resamples show what others would have
lost. There it is Wilson's interval at N / (n + m) contests, rounded down: so many are independent, each of n + m
configurations of its own, and the mean over all contests is at least as precise (Hoeffding 1963). An interval exists up
to n = N / 10: beyond, the best of n is mostly one of the few best of the sample, and no resample has others; with a
long tail coverage falls below 93 % (`benchmarks/evidence.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from robustness.statistics.budget import BEYOND, FEW, MOST_SHARE
from robustness.statistics.jackknife import jackknife_interval, without_each
from robustness.statistics.proportions import MOST_CELLS, Interval, wilson

Floats: TypeAlias = NDArray[np.float64]
NEARLY_CERTAIN = 0.01
"""A probability this near to 0 or 1 rests on a few configurations."""
CONTESTS = "Wilson, as many separate contests"


@dataclass(frozen=True)
class Win:
    """The probability that A's best of `first` trials beats B's best of `second`."""

    first: int
    second: int
    probability: float
    interval: Interval


@dataclass(frozen=True)
class Crossing:
    """The smallest number of trials from which on the arm favoured by a single trial is no longer the likelier winner.

    `low` and `high` are the smallest and largest number at which the probability may be 1/2 by the intervals; `high` is
    None where it may still be at the last number that has one.
    """

    trials: int | None
    low: int | None
    high: int | None


def wins(first: ArrayLike, second: ArrayLike, budgets: list[tuple[int, int]]) -> list[Win]:
    """P above for scores [N] of two arms on the same configurations and each budget (n, m), at most N each."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    size = len(a)
    compare = _Comparison(a, b)
    observed = compare.probabilities(np.ones((1, size)), budgets)[0]
    short = [budget for budget in budgets if max(budget) <= max(1.0, size * MOST_SHARE)]
    few = Interval.none(f"fewer than {FEW} configurations")
    intervals: dict[tuple[int, int], Interval] = {}
    if size >= FEW and short:
        without = compare.probabilities(without_each(size), short)
        probabilities = dict(zip(budgets, observed.tolist(), strict=True))
        for place, budget in enumerate(short):
            p = probabilities[budget]
            own = jackknife_interval(p, without[:, place], "logit")
            if own is None or min(p, 1 - p) < NEARLY_CERTAIN:
                own = _of_contests(p, size // sum(budget))
            intervals[budget] = own
    beyond = few if size < FEW else Interval.none(BEYOND)
    return [
        Win(*budget, p, intervals.get(budget, beyond)) for budget, p in zip(budgets, observed.tolist(), strict=True)
    ]


def _of_contests(probability: float, contests: int) -> Interval:
    return replace(wilson(min(1.0, max(0.0, probability)), contests), method=CONTESTS)


def crossing(found: list[Win]) -> Crossing:
    """Where the probability first crosses 1/2, for wins in ascending order of trials."""
    start = next((np.sign(win.probability - 0.5) for win in found if win.probability != 0.5), 0.0)
    trials = next((win.first for win in found if start and np.sign(win.probability - 0.5) == -start), None)
    known = [win for win in found if not math.isnan(win.interval.low)]
    open_at = [win.first for win in known if win.interval.low <= 0.5 <= win.interval.high]
    ends = bool(open_at) and open_at[-1] < known[-1].first
    return Crossing(trials, open_at[0] if open_at else None, open_at[-1] if ends else None)


def equal_hours(hours: float, first: float, second: float, most: int) -> tuple[int, int] | None:
    """Trials of each arm that fit into `hours`, given the mean hours of a trial; None if one has none or too many."""
    n, m = (math.floor(hours / each + 1e-9) if each > 0 else most + 1 for each in (first, second))
    return (n, m) if min(n, m) >= 1 and max(n, m) <= most else None


class _Comparison:
    """The scores of both arms on one axis, so that a resample only changes counts."""

    def __init__(self, first: Floats, second: Floats) -> None:
        self._values = np.unique(np.concatenate([first, second]))
        self._places = [np.searchsorted(self._values, scores) for scores in (first, second)]
        self._orders = [np.argsort(places, kind="stable") for places in self._places]

    def probabilities(self, weights: Floats, budgets: list[tuple[int, int]]) -> Floats:
        """P above for each resample and budget: [draws, budgets]."""
        totals = np.rint(weights.sum(axis=1)).astype(int)
        found = np.empty((len(weights), len(budgets)))
        for total in np.unique(totals).tolist():
            tables = {size: _below(total, size) for pair in budgets for size in pair}
            rows = np.flatnonzero(totals == total)
            # A few resamples at a time, which keeps large studies within memory.
            step = max(1, MOST_CELLS // len(self._values))
            for chunk in (rows[start : start + step] for start in range(0, len(rows), step)):
                counts = [self._up_to(weights[chunk], arm) for arm in (0, 1)]
                for place, (n, m) in enumerate(budgets):
                    mine, theirs = tables[n][counts[0]], tables[m][counts[1]]
                    after = np.diff(mine, axis=1, prepend=0.0)
                    won = (after * theirs).sum(axis=1) + (after[:, 1:] * theirs[:, :-1]).sum(axis=1)
                    found[chunk, place] = won / 2
        return found

    def _up_to(self, weights: Floats, arm: int) -> NDArray[np.int64]:
        """How many scores of an arm are at most each value: [draws, values]."""
        order, places = self._orders[arm], self._places[arm]
        running = np.concatenate([np.zeros((len(weights), 1)), weights[:, order].cumsum(axis=1)], axis=1)
        ends = np.searchsorted(places[order], np.arange(len(self._values)), side="right")
        up_to: NDArray[np.int64] = np.rint(running[:, ends]).astype(np.int64)
        return up_to


def _below(total: int, size: int) -> Floats:
    """R_n(c) for c = 0 ... total."""
    ratio = np.zeros(total + 1)
    chosen = np.arange(size, total + 1)
    logs = gammaln(chosen + 1.0) - gammaln(chosen - size + 1.0)
    ratio[size:] = np.exp(logs - logs[-1])
    return ratio
