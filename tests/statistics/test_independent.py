"""Independent samples: against statsmodels, scipy and enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from robustness.statistics.independent import fraction_test, newcombe, permutation_p, score_test


@pytest.mark.parametrize(("a", "n1", "b", "n2"), [(12, 30, 5, 28), (0, 20, 9, 20), (20, 20, 11, 15), (7, 7, 0, 6)])
def test_the_interval_of_two_fractions_is_newcombes(a: int, n1: int, b: int, n2: int) -> None:
    interval, _ = newcombe(a / n1, n1, b / n2, n2)
    low, high = confint_proportions_2indep(a, n1, b, n2, method="newcomb", compare="diff")
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-9)


def test_it_leaves_out_zero_exactly_when_its_test_is_significant() -> None:
    both = set()
    for n1, n2 in ((6, 9), (15, 15), (20, 13)):
        for a in range(n1 + 1):
            for b in range(n2 + 1):
                interval, p_value = newcombe(a / n1, n1, b / n2, n2)
                outside = interval.low > 0 or interval.high < 0
                assert outside == (p_value < 0.05), (a, n1, b, n2)
                both.add(outside)
                # The p-value is the level at which the interval reaches zero.
                at_p, _ = newcombe(a / n1, n1, b / n2, n2, level=1 - p_value) if 1e-6 < p_value < 1 else (None, None)
                if at_p is not None:
                    assert min(abs(at_p.low), abs(at_p.high)) < 1e-7
    assert both == {True, False}


@pytest.mark.parametrize(("n1", "n2"), [(20, 20), (40, 25)])
def test_its_false_positives_are_about_five_percent(n1: int, n2: int) -> None:
    rejected = np.array(
        [[newcombe(a / n1, n1, b / n2, n2)[1] < 0.05 for b in range(n2 + 1)] for a in range(n1 + 1)], dtype=float
    )
    for p in (0.1, 0.3, 0.5, 0.7):
        first, second = (stats.binom.pmf(np.arange(n + 1), n, p) for n in (n1, n2))
        assert first @ rejected @ second < 0.06


def test_replicates_count_as_many_trials_as_they_are_worth() -> None:
    owners = np.repeat(np.arange(12), 4)
    values = np.repeat([1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1], 4)
    others = np.arange(12)
    second = np.array([0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0])
    copies = fraction_test(values, owners, second, others)
    single = fraction_test(values[::4], others, second, others)
    assert copies is not None
    assert single is not None
    # Replicates that always agree say no more than one of them.
    assert copies.effective == pytest.approx(single.effective)
    assert copies.p_value == pytest.approx(single.p_value)
    assert fraction_test([], [], second, others) is None


def test_mean_scores_are_compared_by_welchs_test() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.7, 0.1, 14), rng.normal(0.6, 0.2, 22)
    found = score_test(a, b)
    expected = stats.ttest_ind(a, b, equal_var=False)
    assert found is not None
    assert found.p_value == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval()
    assert (found.interval.low, found.interval.high) == pytest.approx((interval.low, interval.high))
    assert found.difference == pytest.approx(a.mean() - b.mean())


def test_differences_too_small_for_their_squares_have_no_interval() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=20), rng.normal(1.0, 2.0, size=15)
    tiny, usual = score_test(a * 1e-200, b * 1e-200), score_test(a, b)
    assert tiny is not None
    assert usual is not None
    assert (tiny.interval.method, tiny.p_value) == ("none: all configurations are equal", None)
    for scale in (1e-50, 1e59):
        scaled = score_test(a * scale, b * scale)
        assert scaled is not None
        assert scaled.p_value == pytest.approx(usual.p_value, rel=1e-9)


def test_samples_that_cannot_be_compared_say_why() -> None:
    assert score_test([], [1.0]) is None
    single = score_test([1.0], [0.5, 0.6])
    assert single is not None
    assert (single.p_value, single.interval.method) == (None, "none: a single configuration")
    equal = score_test([1.0, 1.0], [0.5, 0.5])
    assert equal is not None
    assert equal.interval.method == "none: all configurations are equal"


def test_the_permutation_test_of_small_samples_is_scipys() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.5, 1, 6), rng.normal(0, 1, 7)
    expected = stats.permutation_test(
        (a, b), lambda x, y, axis: x.mean(axis) - y.mean(axis), vectorized=True, n_resamples=math.comb(13, 6)
    )
    exact = np.abs(expected.null_distribution) >= abs(expected.statistic) - 1e-12
    assert permutation_p(a, b) == pytest.approx(exact.mean())


def test_the_permutation_test_of_large_samples_is_near_welchs() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.3, 1, 40), rng.normal(0, 1, 50)
    expected = stats.ttest_ind(a, b, equal_var=False).pvalue
    assert permutation_p(a, b) == pytest.approx(expected, abs=0.02)
    assert permutation_p(a, b) == permutation_p(a, b)
    assert permutation_p([], b) is None
