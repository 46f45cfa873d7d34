"""Cost of tuning: the expected best score after n random trials, and the number of trials needed for a good one.

The expected maximum of n out of N trials drawn without replacement (Dodge et al. 2019, unbiased form) is

    sum_i x_(i) C(i - 1, n - 1) / C(N, n) = sum_i x_(i) (R_n(i) - R_n(i - 1)),    R_n(c) = C(c, n) / C(N, n),

with x in ascending order. It is defined only for n <= N, and near N it depends on the few best trials. Its band is a
jackknife over configurations, widened for skewness (`jackknife`), at each n on its own. It ends at a tenth of the
configurations: beyond, samples without a configuration, like resamples, have the same few best ones.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from robustness.statistics.jackknife import widened_ends
from robustness.statistics.profiles import Band

REACHED = 0.9
"""Probability with which `trials_needed` trials include a good one."""
FEW = 12
"""With fewer configurations there is no interval."""
MOST_SHARE = 0.1
"""The most trials with an interval, as a share of the configurations."""
BEYOND = "beyond a tenth of the configurations, resamples have the same few best ones"
MOST_BLOCKS = 200
"""Parts that the jackknife leaves out one by one; large studies have several configurations in each."""


def budget_sizes(trials: int, most: int = 30) -> list[int]:
    """At most `most` numbers of trials from 1 to `trials`, evenly spaced on a log scale."""
    if trials <= 0:
        return []
    return sorted({round(size) for size in np.geomspace(1, trials, min(most, trials))})


def expected_best(values: ArrayLike, sizes: ArrayLike) -> NDArray[np.float64]:
    """Expected maximum of n of the values [N], for each n in `sizes` [g]."""
    ordered: NDArray[np.float64] = np.sort(np.asarray(values, dtype=float))
    counts = np.ones((1, len(ordered)))
    best: NDArray[np.float64] = _expected(ordered, counts, np.asarray(sizes, dtype=int))[0]
    return best


def expected_without_each(values: ArrayLike, size: int) -> NDArray[np.float64]:
    """Expected maximum of `size` of the values [N] without each of them in turn: [N]; `size` is less than N.

    Without x_(i), each higher value is one place lower: two running sums give all N of them.
    """
    sample: NDArray[np.float64] = np.asarray(values, dtype=float)
    order = np.argsort(sample, kind="stable")
    ordered, n = sample[order], len(sample)
    chosen = np.arange(size, n)
    logs = gammaln(chosen + 1.0) - gammaln(chosen - size + 1.0)
    ratio = np.zeros(n)
    ratio[size:] = np.exp(logs - logs[-1])
    weights = np.diff(ratio)  # of places 1 ... N - 1 among the others
    below = np.concatenate([[0.0], np.cumsum(ordered[:-1] * weights)])
    above = np.concatenate([np.cumsum((ordered[1:] * weights)[::-1])[::-1], [0.0]])
    without = np.empty(n)
    without[order] = below + above
    return without


def budget_band(values: list[NDArray[np.float64]], sizes: ArrayLike) -> Band:
    """Expected best score with a pointwise 95 % band; `values` holds the scores of each configuration.

    The band is NaN where there is no interval: beyond a tenth of the configurations, and with fewer than 12 of them.
    """
    flat = np.concatenate(values)
    budgets = np.asarray(sizes, dtype=int)
    middle = expected_best(flat, budgets)
    low, high = np.full(len(budgets), np.nan), np.full(len(budgets), np.nan)
    short = budgets <= max(1.0, len(values) * MOST_SHARE)
    if len(values) >= FEW and short.any():
        for place, without in zip(np.flatnonzero(short), _without(values, flat, budgets[short]), strict=True):
            ends = widened_ends(float(middle[place]), without)
            low[place], high[place] = (middle[place], middle[place]) if ends is None else ends
    return Band(middle, low, high)


def _without(
    values: list[NDArray[np.float64]], flat: NDArray[np.float64], sizes: NDArray[np.int_]
) -> list[NDArray[np.float64]]:
    """For each size the expected best [parts] without each configuration, or without each part of many of them."""
    if len(flat) == len(values):
        return [expected_without_each(flat, int(size)) for size in sizes]
    owner = np.repeat(np.arange(len(values)), [len(scores) for scores in values])
    order = np.argsort(flat, kind="stable")
    parts = min(len(values), MOST_BLOCKS)
    counts = (owner[order] % parts != np.arange(parts)[:, None]).astype(float)
    return list(_expected(flat[order], counts, sizes).T)


def _expected(values: NDArray[np.float64], counts: NDArray[np.float64], sizes: NDArray[np.int_]) -> NDArray[np.float64]:
    """Expected best [samples, sizes] for values [N] in ascending order, each repeated counts [samples, N] times."""
    up_to = counts.cumsum(axis=1).astype(np.int64)
    total = up_to[:, -1]
    log_factorial = gammaln(np.arange(int(total.max()) + 1) + 1.0)
    # By parts: sum x_i (R_i - R_(i-1)) = x_N - sum (x_(i+1) - x_i) R_i; only steps between distinct values matter.
    steps = np.diff(values)
    expected = np.empty((len(counts), len(sizes)))
    rising = np.flatnonzero(steps > 0)
    below = up_to[:, rising]
    for whole in np.unique(total):
        rows = total == whole
        for place, size in enumerate(np.minimum(sizes, whole)):
            chosen = np.arange(size, whole + 1)
            logs = log_factorial[chosen] - log_factorial[chosen - size]
            ratio = np.zeros(whole + 1)
            ratio[size:] = np.exp(logs - logs[-1])
            expected[rows, place] = values[-1] - ratio[below[rows]] @ steps[rising]
    return expected


def trials_needed(fraction: float, population: int | None = None, chance: float = REACHED) -> int | None:
    """Number of random trials that include a good one with this probability; None if none is good.

    The smallest n with 1 - (1 - p)^n >= chance; in a finite space of N configurations, G = p N of them good, drawn
    without replacement, the smallest n with 1 - C(N - G, n) / C(N, n) >= chance.
    """
    if not fraction > 0:
        return None
    if population is None:
        return 1 if fraction >= chance else math.ceil(math.log(1 - chance) / math.log1p(-fraction) - 1e-9)
    good = fraction * population
    sizes = np.arange(1, population + 1)
    bad = population - good
    with np.errstate(invalid="ignore"):
        logs = gammaln(bad + 1) - gammaln(np.maximum(bad - sizes, 0.0) + 1)
        logs -= gammaln(population + 1) - gammaln(population - sizes + 1.0)
    missed = np.where(sizes <= bad + 1e-9, np.exp(logs), 0.0)
    return int(sizes[np.argmax(missed <= 1 - chance + 1e-12)])
