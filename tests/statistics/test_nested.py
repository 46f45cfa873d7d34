"""Differences of arms with nested models and searches, against scipy's tests and by simulation."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from robustness.statistics.nested import (
    arm_mean,
    between_models,
    between_searches,
    difference_of_arms,
    model_weights,
    search_means,
)

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FIRST = {0: [0.91, 0.93, 0.90], 1: [0.95, 0.94, 0.96], 2: [0.89, 0.92, 0.90], 3: [0.93, 0.91, 0.95]}
SECOND = {0: [0.85, 0.88], 1: [0.80, 0.82], 2: [0.86, 0.83]}
NO_IMAGES = np.full(100, 0.05)
"""Resamples that do not differ: the test set adds no error."""


def test_with_several_searches_and_no_error_of_images_it_is_welchs_test_of_search_means() -> None:
    result = difference_of_arms(FIRST, SECOND, NO_IMAGES)
    first, second = ([float(np.mean(models)) for models in arm.values()] for arm in (FIRST, SECOND))
    welch = stats.ttest_ind(first, second, equal_var=False)
    expected = welch.confidence_interval(0.95)
    assert result.difference == pytest.approx(np.mean(first) - np.mean(second))
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high))
    assert result.p_value == pytest.approx(welch.pvalue)
    assert result.degrees_of_freedom == pytest.approx(welch.df)
    assert result.searches_error == pytest.approx(math.hypot(stats.sem(first), stats.sem(second)))


def test_with_one_search_it_is_welchs_test_of_models() -> None:
    first, second = [0.91, 0.93, 0.90, 0.95], [0.85, 0.88, 0.80]
    result = difference_of_arms({0: first}, {0: second}, NO_IMAGES)
    welch = stats.ttest_ind(first, second, equal_var=False)
    expected = welch.confidence_interval(0.95)
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high))
    assert result.p_value == pytest.approx(welch.pvalue)
    assert result.models_error == pytest.approx(math.hypot(stats.sem(first), stats.sem(second)))
    assert result.pictures_error == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(result.searches_error)


def test_an_ensemble_and_its_members_are_compared_search_by_search() -> None:
    members = {search: FIRST[search] for search in range(3)}
    ensembles = {0: [0.925], 1: [0.961], 2: [0.917]}
    result = difference_of_arms(ensembles, members, NO_IMAGES, shared=True)
    paired = stats.ttest_rel(search_means(ensembles), search_means(members))
    expected = paired.confidence_interval(0.95)
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high))
    assert result.p_value == pytest.approx(paired.pvalue)
    # With other searches there is nothing to pair.
    unpaired, independent = (difference_of_arms(ensembles, FIRST, NO_IMAGES, shared) for shared in (True, False))
    assert (unpaired.low, unpaired.high) == (independent.low, independent.high)


def test_images_add_their_own_part_to_the_interval() -> None:
    resampled = np.random.default_rng(0).normal(0.05, 0.02, 1000)
    result, without = (difference_of_arms(FIRST, SECOND, samples) for samples in (resampled, NO_IMAGES))
    assert result.degrees_of_freedom == without.degrees_of_freedom
    welch = without.high - without.difference
    assert result.high - result.difference == pytest.approx(math.hypot(welch, 1.959964 * resampled.std(ddof=1)))
    # The interval that leaves out the p-value reaches just to zero.
    at_p = difference_of_arms(FIRST, SECOND, resampled, level=1 - result.p_value)
    assert at_p.low == pytest.approx(0.0, abs=1e-9)


def test_with_one_model_per_arm_only_the_sampling_error_of_images_remains() -> None:
    resampled = np.random.default_rng(0).normal(0.05, 0.02, 1000)
    result = difference_of_arms({0: [0.9]}, {0: [0.85]}, resampled)
    assert result.low == pytest.approx(0.05 - 1.959964 * resampled.std(ddof=1))
    assert math.isinf(result.degrees_of_freedom)
    assert math.isnan(result.models_error)
    undefined = difference_of_arms({0: [0.9]}, {0: [0.85]}, [math.nan, 0.0])
    assert math.isnan(undefined.low)
    assert undefined.difference == pytest.approx(0.05)


def test_the_interval_leaves_out_zero_exactly_when_p_is_below_five_percent() -> None:
    rng = np.random.default_rng(4)
    for _ in range(300):
        first, second = ({k: rng.normal(m, 0.02, 3).tolist() for k in range(3)} for m in (0.03, 0.0))
        result = difference_of_arms(first, second, rng.normal(0, 0.01, 50))
        assert (result.low <= 0 <= result.high) == (result.p_value >= 0.05)


def test_every_search_counts_the_same_however_many_models_it_has() -> None:
    figures = {0: [0.9, 0.8, 0.7], 4: [0.6]}
    assert arm_mean(figures) == pytest.approx(0.7)
    assert between_searches(figures) == pytest.approx(stats.sem([0.8, 0.6]))
    assert math.isnan(between_models(figures))
    assert between_models(SECOND) == pytest.approx(
        math.sqrt(sum(stats.sem(models) ** 2 for models in SECOND.values())) / 3
    )


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_weights_give_the_mean_of_search_means(searches: list[int]) -> None:
    values = np.random.default_rng(len(searches)).random(len(searches))
    figures: dict[int, list[float]] = {}
    for search, value in zip(searches, values, strict=True):
        figures.setdefault(search, []).append(float(value))
    assert model_weights(searches) @ values == pytest.approx(arm_mean(figures))


def test_three_searches_cover_what_they_claim_and_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short form of `benchmarks/searches.py`: 4,000 studies have a standard error of 0.0034 at 0.95."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import searches

    repeated, _ = searches.covered(searches.USUAL, 3, 3, 4000)
    once, _ = searches.covered(searches.USUAL, 1, 3, 4000)
    unlike, _ = searches.covered(searches.UNLIKE, 2, 3, 4000)
    assert 0.94 <= repeated <= 0.99
    assert unlike >= 0.93
    assert once < 0.80
