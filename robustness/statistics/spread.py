"""Spread of an arm's scores over configurations, and the paired difference of two arms' spread.

Of scores x_1 ... x_n, one for each configuration, with weights w_i (1, or how often a resample has each):

    standard deviation    sqrt(sum w_i (x_i - mean)^2 / (n - 1))
    interquartile range   q(0.75) - q(0.25), q linear between order statistics (Hyndman and Fan's type 7)
    lower decile          q(0.10)
    CVaR                  the mean of the lowest quarter, sum of u_i x_(i) / (n / 4), u_i the part of it in that quarter
    regret                max x - mean x, to the arm's own best

The first and the fourth are smooth. Their difference d of two arms on the same configurations has a studentised
bootstrap interval over configurations, widened to Student's: with influence values h_i (the derivative of d in w_i) and
s^2 = sum w_i h_i^2 / (n (n - 1)), the quantiles of (d* - d) / s* replace those of t with half of Satterthwaite's
degrees of freedom (`jackknife`); the interval spans both, and its error is the larger of s and the jackknife's. That
half, and the larger error, are what long tails need: a sample that lacks their rare scores also underestimates s.
Quantiles have no useful s; theirs is Student's with the bootstrap's standard error. `benchmarks/evidence.py` measures
coverage.

Where a gap in either arm's scores is so near that its lower decile may lie on either side, resampling fails. Then the
decile of each arm lies between the order statistics x_(l) and x_(u), the largest l with P(X < l) <= 0.025 (at least 1)
and the smallest u with P(X >= u) <= 0.025 for X ~ Binomial(n, 0.10), whatever the distribution (Conover 1999), and the
interval of the difference goes from the first arm's x_(l) less the second's x_(u) to x_(u) less x_(l): as wide as it
must be if a decile is on the other side of its gap.

There is no interval of the regret, since no resample has a better configuration than the sample; of the lower decile,
with fewer than 30 configurations, of which it has less than three on one side; of a standard deviation, with fewer than
30, or if a single configuration makes up nearly all of s^2; and of the others, with fewer than 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from robustness.statistics import binomial
from robustness.statistics.jackknife import satterthwaite, without_each
from robustness.statistics.proportions import LEVEL, Interval, enough_draws, resampling

Floats: TypeAlias = NDArray[np.float64]
Measure: TypeAlias = Callable[[Floats, Floats], Floats]
"""From values [n] and weights [draws, n] to [draws]."""
Smooth: TypeAlias = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""The same with the influence values [draws, n]."""

DECILE = 0.10
TAIL = 0.25
"""The share of the configurations that CVaR is the mean of."""
FEW, FEW_FOR_DECILE, FEW_FOR_SD = 12, 30, 30
LARGEST_PART = 0.95
"""A single configuration with more than this share of s^2 leaves an interval without support."""
AT_ONCE = 8
"""Resamples that are measured together."""
STUDENTISED = "studentised bootstrap, widened to Student"
BOOTSTRAP = "Student with a bootstrap error"
ORDER = "order statistics"
"""Of a lower decile beside a gap in the scores."""


@dataclass(frozen=True)
class SpreadDifference:
    """A measure of two arms and its difference, first minus second."""

    first: float
    second: float
    interval: Interval

    @property
    def difference(self) -> float:
        return self.first - self.second


def standard_deviation(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The standard deviation [draws] and its influence values [draws, n]."""
    n = weights.sum(axis=1, keepdims=True)
    squares = (values - (weights @ values)[:, None] / n) ** 2
    variance = (weights * squares).sum(axis=1, keepdims=True) / n
    root = np.sqrt(np.maximum(variance, 1e-300))
    # Values that were not drawn may be any number of standard deviations away.
    squares = np.where(weights > 0, squares, 0.0)
    return (np.sqrt(variance * n / (n - 1)))[:, 0], (squares - variance) / (2 * root)


def cvar(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The mean of the lowest quarter [draws] and its influence values [draws, n]."""
    order = np.argsort(values, kind="stable")
    sorted_values, counts = values[order], weights[:, order]
    up_to = counts.cumsum(axis=1)
    size = TAIL * up_to[:, -1:]
    inside = np.clip(size - (up_to - counts), 0.0, counts)
    limit = sorted_values[(up_to >= size - 1e-9).argmax(axis=1)][:, None]
    below = np.minimum(values - limit, 0.0)
    mean = (weights * below).sum(axis=1, keepdims=True) / up_to[:, -1:]
    return inside @ sorted_values / size[:, 0], (below - mean) / TAIL


def quantile(share: float) -> Measure:
    """The quantile of this share, linear between order statistics."""

    def of(values: Floats, weights: Floats) -> Floats:
        order = np.argsort(values, kind="stable")
        sorted_values, up_to = values[order], weights[:, order].cumsum(axis=1)
        place = (up_to[:, -1] - 1) * share
        whole = np.floor(place + 1e-9)
        after = np.minimum(whole + 1, up_to[:, -1] - 1)
        lower, upper = (sorted_values[(up_to > at[:, None] + 1e-9).argmax(axis=1)] for at in (whole, after))
        part = place - whole
        quantiles: Floats = lower * (1 - part) + upper * part
        return quantiles

    return of


def interquartile_range(values: Floats, weights: Floats) -> Floats:
    """The distance of the quartiles [draws]."""
    return quantile(0.75)(values, weights) - quantile(0.25)(values, weights)


SMOOTH: Mapping[str, Smooth] = {"sd": standard_deviation, "cvar": cvar}
QUANTILES: Mapping[str, Measure] = {"iqr": interquartile_range, "lower_decile": quantile(DECILE)}
MEASURES = ("sd", "iqr", "lower_decile", "cvar", "regret")


def spread(scores: ArrayLike) -> dict[str, float]:
    """Every measure of the scores [configurations] of one arm; at least two configurations."""
    values: Floats = np.asarray(scores, dtype=float)
    one = np.ones((1, len(values)))
    found = {name: float(measure(values, one)[0][0]) for name, measure in SMOOTH.items()}
    found |= {name: float(measure(values, one)[0]) for name, measure in QUANTILES.items()}
    found["regret"] = float(values.max() - values.mean())
    return {name: found[name] for name in MEASURES}


def spread_differences(first: ArrayLike, second: ArrayLike, seed: int = 0) -> dict[str, SpreadDifference]:
    """Every measure of two arms on the same configurations [n], and its paired difference with an interval."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    n = len(a)
    own, other = spread(a), spread(b)
    intervals = {"regret": Interval.none("no resample has a better configuration than the sample")}
    if n < FEW:
        few = Interval.none(f"fewer than {FEW} configurations")
        intervals |= dict.fromkeys([*SMOOTH, *QUANTILES], few)
    else:
        weights = resampling(n, enough_draws(n), seed)
        intervals |= {name: _studentised(measure, a, b, weights) for name, measure in SMOOTH.items()}
        intervals |= {name: _by_resampling(measure, a, b, weights) for name, measure in QUANTILES.items()}
    if FEW <= n < FEW_FOR_SD:
        intervals["sd"] = Interval.none(f"fewer than {FEW_FOR_SD} configurations")
    if any(_gap_at_decile(values) for values in (a, b)):
        intervals["lower_decile"] = _by_order(a, b)
    if n < FEW_FOR_DECILE:
        intervals["lower_decile"] = Interval.none(f"fewer than {FEW_FOR_DECILE} configurations")
    return {name: SpreadDifference(own[name], other[name], intervals[name]) for name in MEASURES}


def _gap_at_decile(values: Floats) -> bool:
    """Whether the decile's rank, within two of its standard errors, meets a gap of a third of the scores' range."""
    ordered, n = np.sort(values), len(values)
    reach = 2 * (n * DECILE * (1 - DECILE)) ** 0.5
    first, last = max(0, int(n * DECILE - reach) - 1), min(n - 1, int(n * DECILE + reach) + 1)
    return bool(np.diff(ordered[first : last + 1]).max(initial=0.0) > (ordered[-1] - ordered[0]) / 3)


def _by_order(first: Floats, second: Floats) -> Interval:
    """The difference of the lower deciles, each of which lies between two order statistics."""
    n = len(first)
    below = binomial.cdf(np.arange(n), n, DECILE)  # P(X < l) for l = 1 ... n
    tail = (1 - LEVEL) / 2
    low = max(1, int((below <= tail).sum())) - 1
    high = int((below < 1 - tail).sum())
    a, b = np.sort(first), np.sort(second)
    return Interval(float(a[low] - b[high]), float(a[high] - b[low]), ORDER)


def _studentised(measure: Smooth, first: Floats, second: Floats, weights: Floats) -> Interval:
    n = len(first)
    (a, influence_a), (b, influence_b) = (measure(values, np.ones((1, n))) for values in (first, second))
    influence = (influence_a - influence_b)[0]
    total = float((influence**2).sum())
    if total <= 1e-24 * max(1.0, float(np.abs(first).max()) ** 2):
        return Interval.none("the difference does not vary between configurations")
    if float((influence**2).max()) > LARGEST_PART * total:
        return Interval.none("it rests on a single configuration")
    difference, error = float(a[0] - b[0]), (total / (n * (n - 1))) ** 0.5
    one_less, _ = _differences(measure, first, second, without_each(n))
    jackknife = ((1 - 1 / len(one_less)) * float(((one_less - one_less.mean()) ** 2).sum())) ** 0.5
    resampled, errors = _differences(measure, first, second, weights)
    usable = errors > 1e-3 * error
    studentised = (resampled - difference)[usable] / errors[usable]
    low, high = np.quantile(studentised, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    limit = float(stdtrit(max(1.0, satterthwaite(influence) / 2), (1 + LEVEL) / 2))
    widest = max(error, jackknife)
    ends = difference - max(float(high), limit) * widest, difference - min(float(low), -limit) * widest
    return Interval(*ends, STUDENTISED)


def _differences(measure: Smooth, first: Floats, second: Floats, weights: Floats) -> Floats:
    """The difference of the measure in each resample, and its standard error there: [2, draws]."""
    n = len(first)
    found = np.empty((2, len(weights)))
    for rows in _a_few(weights):
        (a, influence_a), (b, influence_b) = (measure(values, weights[rows]) for values in (first, second))
        squares = weights[rows] * (influence_a - influence_b) ** 2
        found[:, rows] = a - b, np.sqrt(squares.sum(axis=1) / (n * (n - 1)))
    return found


def _a_few(weights: Floats) -> Iterator[slice]:
    """Resamples a few at a time, which keeps large studies within memory, and most within the processor's cache."""
    return (slice(start, start + AT_ONCE) for start in range(0, len(weights), AT_ONCE))


def _by_resampling(measure: Measure, first: Floats, second: Floats, weights: Floats) -> Interval:
    n = len(first)
    one = np.ones((1, n))
    difference = float(measure(first, one)[0] - measure(second, one)[0])
    parts = (weights[rows] for rows in _a_few(weights))
    resampled = np.concatenate([measure(first, part) - measure(second, part) for part in parts])
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * float(resampled.std(ddof=1)) * (n / (n - 1)) ** 0.5
    return Interval(difference - half, difference + half, BOOTSTRAP)
