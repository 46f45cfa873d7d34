from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from robustness.statistics.proportions import fraction_interval, resampling, wilson

PAPERS_FRACTIONS = (0.11, 0.39, 0.44, 0.82)
PAPERS_PAIRS = 86


@pytest.mark.parametrize(("count", "n"), [(0, 12), (1, 1), (3, 12), (34, 86), (71, 86), (86, 86), (4999, 5000)])
def test_wilsons_interval_agrees_with_scipy_and_statsmodels(count: int, n: int) -> None:
    ours = wilson(count / n, n)
    scipys = stats.binomtest(count, n).proportion_ci(method="wilson")
    assert (ours.low, ours.high) == pytest.approx((scipys.low, scipys.high), abs=1e-12)
    assert (ours.low, ours.high) == pytest.approx(proportion_confint(count, n, method="wilson"), abs=1e-12)


@pytest.mark.parametrize("fraction", PAPERS_FRACTIONS)
def test_wilsons_interval_has_93_to_97_percent_coverage_at_the_papers_size(fraction: float) -> None:
    counts = np.arange(PAPERS_PAIRS + 1)
    intervals = [fraction_interval(np.arange(PAPERS_PAIRS) < count, np.arange(PAPERS_PAIRS)) for count in counts]
    covers = np.array([interval.low <= fraction <= interval.high for interval in intervals])
    coverage = stats.binom.pmf(counts, PAPERS_PAIRS, fraction)[covers].sum()
    assert 0.93 <= coverage <= 0.97


@pytest.mark.parametrize("k", [1, 8, 20])
def test_the_interval_has_positive_width_even_if_all_configurations_agree(k: int) -> None:
    interval = fraction_interval(np.ones(4 * k), np.repeat(np.arange(k), 4))
    assert interval.low == pytest.approx(stats.binomtest(k, k).proportion_ci(method="wilson").low)


def test_one_more_failure_among_replicates_hardly_moves_the_interval() -> None:
    """8 configurations x 4 replicates: [0, 32 %] without a failure was [0, 9 %] with one."""
    owners = np.repeat(np.arange(8), 4)
    highs = [fraction_interval(np.arange(32) % 4 * 8 + np.arange(32) // 4 < count, owners).high for count in range(9)]
    assert highs[0] == pytest.approx(stats.binomtest(0, 8).proportion_ci(method="wilson").high)
    assert all(abs(later - before) < 0.1 for before, later in itertools.pairwise(highs))


def test_an_empty_sample_has_no_interval() -> None:
    assert math.isnan(fraction_interval([], []).low)
    assert fraction_interval([], []).method == "none: no observations"


def test_resampling_counts_how_often_each_unit_is_drawn() -> None:
    weights = resampling(7, 50, seed=3)
    assert weights.shape == (50, 7)
    assert np.all(weights.sum(axis=1) == 7)
    assert np.array_equal(weights, resampling(7, 50, seed=3))
