from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from robustness.statistics.paired import paired_test
from robustness.statistics.strata import weighted_difference, weighted_fraction

WEIGHTS = np.array([432, 144]) / 576


def drawn(first: int, second: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """So many of n outcomes in each of two strata, and the strata."""
    return np.r_[np.arange(n) < first, np.arange(n) < second].astype(float), np.repeat([0, 1], n)


def test_the_estimate_weights_each_stratum_by_its_share_of_the_space() -> None:
    values, strata = drawn(30, 10, 43)
    estimate = weighted_fraction(values, np.arange(86), strata, WEIGHTS)
    assert estimate.value == pytest.approx(0.75 * 30 / 43 + 0.25 * 10 / 43)
    assert estimate.interval.low < estimate.value < estimate.interval.high


def test_strata_drawn_in_proportion_and_all_alike_are_an_ordinary_sample() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.permutation(np.arange(80) < 40), np.zeros(80)
    strata = np.repeat([0, 1], [60, 20])
    first[:60], first[60:] = np.arange(60) < 30, np.arange(20) < 10
    weighted = weighted_difference(first, second, np.arange(80), strata, [0.75, 0.25])
    plain = paired_test(first, second, np.arange(80))
    assert weighted.effective == pytest.approx(80)
    assert (weighted.interval.low, weighted.interval.high) == pytest.approx((plain.interval.low, plain.interval.high))
    assert weighted.p_value == pytest.approx(plain.p_value)


@pytest.mark.parametrize("rates", [(0.1, 0.0), (0.5, 0.1), (0.1, 0.5), (0.4, 0.4), (0.02, 0.6)])
def test_the_weighted_fraction_is_covered_by_enumeration(rates: tuple[float, float]) -> None:
    n = 43
    truth = float(WEIGHTS @ rates)
    coverage = 0.0
    for first in range(n + 1):
        for second in range(n + 1):
            probability = stats.binom.pmf(first, n, rates[0]) * stats.binom.pmf(second, n, rates[1])
            if probability > 1e-7:
                values, strata = drawn(first, second, n)
                interval = weighted_fraction(values, np.arange(2 * n), strata, WEIGHTS).interval
                coverage += probability * (interval.low <= truth <= interval.high)
    assert coverage >= 0.94


def test_no_variation_at_all_still_leaves_an_interval() -> None:
    estimate = weighted_difference(np.zeros(86), np.zeros(86), np.arange(86), np.repeat([0, 1], 43), WEIGHTS)
    assert estimate.effective == pytest.approx(1 / (0.75**2 / 43 + 0.25**2 / 43))
    assert estimate.interval.low < 0 < estimate.interval.high
    assert estimate.p_value == 1
