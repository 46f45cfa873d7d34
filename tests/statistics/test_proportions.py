from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from robustness.statistics.proportions import (
    effective_number,
    fraction_interval,
    mean_interval,
    percentiles,
    resampling,
    wilson,
)

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
    intervals = [fraction_interval(np.arange(PAPERS_PAIRS) < count, replicated=False) for count in counts]
    covers = np.array([interval.low <= fraction <= interval.high for interval in intervals])
    coverage = stats.binom.pmf(counts, PAPERS_PAIRS, fraction)[covers].sum()
    assert 0.93 <= coverage <= 0.97


@pytest.mark.parametrize("fraction", PAPERS_FRACTIONS)
def test_the_bootstrap_interval_has_93_to_97_percent_coverage_at_the_papers_size(fraction: float) -> None:
    # Up to the noise of 2,000 draws the interval depends on the sample only through its count, so it is computed once
    # for each count in a simulation of 20,000 studies.
    rng = np.random.default_rng(0)
    counts, times = np.unique(rng.binomial(PAPERS_PAIRS, fraction, size=20_000), return_counts=True)
    intervals = [mean_interval(np.arange(PAPERS_PAIRS) < count) for count in counts]
    covers = np.array([interval.low <= fraction <= interval.high for interval in intervals])
    assert 0.93 <= times[covers].sum() / times.sum() <= 0.97


def test_the_cluster_bootstrap_has_nominal_coverage_where_wilson_is_overconfident() -> None:
    """Replicates of a configuration always agree here: 60 configurations x 3 are worth only 60 trials."""
    rng = np.random.default_rng(1)
    shares = (rng.random((400, 60)) < 0.4).astype(float)
    bootstrap = [mean_interval(row, draws=500) for row in shares]
    assert 0.92 <= np.mean([interval.low <= 0.4 <= interval.high for interval in bootstrap]) <= 0.98
    overconfident = [wilson(float(row.mean()), 180) for row in shares]
    assert np.mean([interval.low <= 0.4 <= interval.high for interval in overconfident]) < 0.85


def test_the_finite_population_correction_narrows_the_interval() -> None:
    infinite, finite = wilson(0.4, 86), wilson(0.4, effective_number(86, 576))
    assert effective_number(86, 576) == pytest.approx(86 * 575 / 490)
    assert infinite.low < finite.low < 0.4 < finite.high < infinite.high


@pytest.mark.parametrize("good", [20, 120, 250])
def test_the_corrected_interval_has_nominal_coverage_for_draws_without_replacement(good: int) -> None:
    population, n = 300, 86
    counts = np.arange(n + 1)
    probabilities = stats.hypergeom.pmf(counts, population, good, n)
    intervals = [fraction_interval(np.arange(n) < count, False, population) for count in counts]
    covers = np.array([interval.low <= good / population <= interval.high for interval in intervals])
    assert 0.92 <= probabilities[covers].sum() <= 0.98


def test_a_fully_sampled_space_has_no_sampling_error() -> None:
    for replicated in (False, True):
        interval = fraction_interval([1, 0, 0.5, 1] if replicated else [1, 0, 0, 1], replicated, population=4)
        assert interval.low == interval.high
        assert interval.method == "none: the whole space was run"


def test_the_interval_has_positive_width_even_if_all_configurations_agree() -> None:
    interval = fraction_interval(np.ones(8), replicated=True)
    assert interval.low == pytest.approx(stats.binomtest(8, 8).proportion_ci(method="wilson").low)


def test_an_empty_sample_has_no_interval() -> None:
    assert math.isnan(fraction_interval([], replicated=False).low)
    assert math.isnan(mean_interval([]).high)


def test_resampling_counts_how_often_each_unit_is_drawn() -> None:
    weights = resampling(7, 50, seed=3)
    assert weights.shape == (50, 7)
    assert np.all(weights.sum(axis=1) == 7)
    assert np.array_equal(weights, resampling(7, 50, seed=3))


def test_percentiles_shrink_towards_the_estimate_as_the_population_is_exhausted() -> None:
    samples = np.linspace(0.2, 0.6, 1001)
    whole = percentiles(0.4, samples, 50, None)
    half = percentiles(0.4, samples, 50, 99)
    assert (half.high - half.low) / (whole.high - whole.low) == pytest.approx(math.sqrt((99 - 50) / 98))
