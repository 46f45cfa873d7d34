from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from robustness.statistics.budget import (
    budget_band,
    budget_sizes,
    expected_best,
    expected_without_each,
    trials_needed,
)

SCORES = [0.5, 0.62, 0.62, 0.7, 0.71, 0.83, 0.9]


@pytest.mark.parametrize("size", range(1, 8))
def test_the_expected_best_is_the_mean_over_all_subsets_of_trials(size: int) -> None:
    brute = np.mean([max(chosen) for chosen in itertools.combinations(SCORES, size)])
    assert expected_best(SCORES, [size])[0] == pytest.approx(brute, abs=1e-12)


def test_the_order_of_trials_does_not_matter() -> None:
    assert np.array_equal(expected_best(SCORES[::-1], [1, 3]), expected_best(SCORES, [1, 3]))


def test_many_trials_lose_no_precision() -> None:
    values = np.random.default_rng(0).random(5000)
    best = expected_best(values, [1, 2, 5000])
    assert best[0] == pytest.approx(values.mean(), abs=1e-9)
    assert best[2] == pytest.approx(values.max(), abs=1e-9)
    ordered = np.sort(values)
    exact = sum(x * 2 * i for i, x in enumerate(ordered)) / (5000 * 4999)
    assert best[1] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_the_expected_best_without_each_trial_is_that_of_the_others(size: int) -> None:
    shuffled = np.random.default_rng(1).permutation(SCORES)
    brute = [expected_best(np.delete(shuffled, place), [size])[0] for place in range(len(shuffled))]
    assert expected_without_each(shuffled, size) == pytest.approx(brute, abs=1e-12)


@pytest.mark.parametrize("replicates", [1, 3])
def test_the_band_is_as_wide_as_the_estimate_varies_between_studies(replicates: int) -> None:
    rng = np.random.default_rng(2)
    sizes = [1, 4, 10]

    def drawn() -> list[NDArray[np.float64]]:
        return [own + 0.2 * rng.random(replicates) for own in rng.random(40)]

    studies = [expected_best(np.concatenate(drawn()), sizes) for _ in range(1500)]
    band = budget_band(drawn(), sizes)
    half = (band.high - band.low)[:2] / 2
    assert half == pytest.approx(2.0 * np.std(studies, axis=0)[:2], rel=0.35)
    assert np.isnan(band.low[2])
    assert np.isnan(band.high[2])


def test_few_configurations_have_no_band() -> None:
    band = budget_band([np.array([0.5, 0.6]), np.array([0.7]), np.array([0.8, 0.9])], [1, 5])
    assert band.middle.tolist() == pytest.approx([0.7, 0.9])
    assert np.isnan(band.low).all()


@pytest.mark.parametrize("fraction", [0.01, 0.08, 0.11, 0.44, 0.5, 0.9, 0.99, 1.0])
def test_trials_needed_in_an_infinite_space_is_the_first_number_to_reach_the_probability(fraction: float) -> None:
    brute = next(n for n in itertools.count(1) if 1 - (1 - fraction) ** n >= 0.9 - 1e-12)
    assert trials_needed(fraction) == brute


@pytest.mark.parametrize(("good", "population"), [(1, 10), (3, 20), (63, 576), (10, 10), (1, 1)])
def test_trials_needed_in_a_finite_space_assumes_draws_without_replacement(good: int, population: int) -> None:
    brute = next(
        n
        for n in range(1, population + 1)
        if 1 - math.comb(population - good, n) / math.comb(population, n) >= 0.9 - 1e-12
    )
    assert trials_needed(good / population, population) == brute


def test_no_number_of_trials_suffices_if_none_is_good() -> None:
    assert trials_needed(0.0) is None
    assert trials_needed(0.0, 50) is None
    assert trials_needed(math.nan) is None


def test_budget_sizes_range_from_one_to_all_trials() -> None:
    assert budget_sizes(0) == []
    assert budget_sizes(1) == [1]
    assert budget_sizes(30) == sorted(set(budget_sizes(30)))
    assert budget_sizes(5000)[-1] == 5000
    assert len(budget_sizes(5000)) <= 30
