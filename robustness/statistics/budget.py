"""Cost of tuning: the expected best score after n random trials, and the number of trials needed for a good one.

The expected maximum of n out of N trials drawn without replacement (Dodge et al. 2019, unbiased form) is

    sum_i x_(i) C(i - 1, n - 1) / C(N, n) = sum_i x_(i) (R_n(i) - R_n(i - 1)),    R_n(c) = C(c, n) / C(N, n),

with x in ascending order. It is defined only for n <= N, and near N it depends on the few best trials. Its band is a
percentile bootstrap over configurations, at each n on its own. No resample has a better trial than the sample, so the
band is too narrow upwards for few configurations and near N.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from robustness.statistics.profiles import Band
from robustness.statistics.proportions import LEVEL, resampling

REACHED = 0.9
"""Probability with which `trials_needed` trials include a good one."""
MOST_CELLS = 500_000
"""Maximum of bootstrap samples x trials; large studies use fewer samples, which is all they need."""


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


def budget_band(values: list[NDArray[np.float64]], sizes: ArrayLike, seed: int = 0) -> Band:
    """Expected best score with a pointwise 95 % bootstrap band; `values` holds the scores of each configuration."""
    flat = np.concatenate(values)
    owner = np.repeat(np.arange(len(values)), [len(scores) for scores in values])
    order = np.argsort(flat, kind="stable")
    flat, owner = flat[order], owner[order]
    budgets = np.asarray(sizes, dtype=int)
    draws = int(np.clip(MOST_CELLS // len(flat), 200, 1000))
    samples = _expected(flat, resampling(len(values), draws, seed)[:, owner], budgets)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0)
    return Band(_expected(flat, np.ones((1, len(flat))), budgets)[0], low, high)


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
