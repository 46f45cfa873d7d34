"""Contrasts of several arms: a weighted sum of them within each configuration, with weights that sum to zero.

In a pair (configuration and replicate) the contrast is z = sum_a w_a x_a, of scores or of outcomes 0 and 1. Of scores,
its mean over configurations has the interval and test of `means`. Of outcomes it has Tango's (`score_test`): scaled so
that the positive weights sum to 1, z lies in [-1, 1]; b is the mean of its positive and c of its negative part, and
they are shares of

    n = n_eff min(v / s^2, 1 / sum w+^2, 1 / sum w-^2),    v = b + c - (b - c)^2,    s^2 = mean z^2 - (b - c)^2

pairs, the number of pairs of two arms that would be as precise: v is the variance of one such pair, s^2 that of a z,
and means of k arms are never worth more than k pairs. n_eff is the effective number of pairs of `clusters`. With the
weights 1 and -1 this is the comparison of two arms, number for number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.statistics.clusters import configuration_means, effective_number
from robustness.statistics.equivalence import Equivalence, counts_equivalence, mean_equivalence
from robustness.statistics.means import mean_test
from robustness.statistics.proportions import Interval
from robustness.statistics.score_test import score_interval, score_p


@dataclass(frozen=True)
class Contrast:
    """The mean of a contrast over configurations, its interval and p-value, and its equivalence to zero."""

    value: float
    interval: Interval
    p_value: float | None
    effective: float
    """The number of configurations or, of outcomes, of pairs that it is worth."""
    equivalence: Equivalence | None = None
    """None without a margin."""


def score_contrast(scores: ArrayLike, weights: ArrayLike, owners: ArrayLike, margin: float | None = None) -> Contrast:
    """The contrast of scores [pairs, arms] of the configurations `owners` [pairs]."""
    values = configuration_means(np.asarray(scores, dtype=float) @ np.asarray(weights, dtype=float), owners)
    tested = mean_test(values)
    equivalence = None if margin is None else mean_equivalence(values, margin)
    return Contrast(float(values.mean()), tested.interval, tested.p_value, float(len(values)), equivalence)


def outcome_contrast(
    outcomes: ArrayLike, weights: ArrayLike, owners: ArrayLike, margin: float | None = None
) -> Contrast:
    """The contrast of outcomes, 0 or 1, [pairs, arms] of the configurations `owners` [pairs]; one pair at least."""
    each: NDArray[np.float64] = np.asarray(weights, dtype=float)
    scale = float(each[each > 0].sum())
    unit = each / scale
    z = np.asarray(outcomes, dtype=float) @ unit
    # Sums of weights such as 0.1 differ from zero in the last bits.
    z = np.where(np.abs(z) < 1e-12, 0.0, z)
    up, down, square = (
        float(configuration_means(part, owners).mean()) for part in (np.maximum(z, 0), np.maximum(-z, 0), z * z)
    )
    variance, own = up + down - (up - down) ** 2, square - (up - down) ** 2
    most = min(1 / float((unit[unit > 0] ** 2).sum()), 1 / float((unit[unit < 0] ** 2).sum()))
    worth = min(max(1.0, variance / own), most) if own > 1e-12 else (1.0 if variance <= 1e-12 else most)
    n = effective_number(z, owners) * worth
    interval = score_interval(n * up, n * down, n)
    equivalence = None
    if margin is not None:
        within = counts_equivalence(n * up, n * down, n, margin / scale)
        equivalence = Equivalence(margin, _scaled(within.interval, scale), within.p_above, within.p_below)
    value = scale * (up - down)
    return Contrast(value, _scaled(interval, scale), score_p(n * up, n * down, n), n, equivalence)


def _scaled(interval: Interval, scale: float) -> Interval:
    return Interval(scale * interval.low, scale * interval.high, interval.method)
