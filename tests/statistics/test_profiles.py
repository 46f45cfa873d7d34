from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid

from robustness.statistics.profiles import above, area, profile_band

SCORES = [0.52, 0.61, 0.61, 0.7, 0.83, 0.95, 0.5]


def test_a_profile_counts_the_trials_above_each_threshold() -> None:
    grid = np.linspace(0.5, 1.0, 51)
    counted = [sum(score > limit for score in SCORES) / len(SCORES) for limit in grid]
    assert above(SCORES, grid).mean(axis=0) == pytest.approx(counted)


def test_the_area_of_a_profile_is_its_integral() -> None:
    grid = np.linspace(0.5, 1.0, 200_001)
    integral = trapezoid(above(SCORES, grid).mean(axis=0), grid) / 0.5
    assert area(SCORES, 0.5, 1.0).mean() == pytest.approx(integral, abs=1e-5)


def test_scores_outside_the_range_are_clipped_to_it() -> None:
    assert area([0.3, 1.2], 0.5, 1.0).tolist() == [0.0, 1.0]


def test_the_band_covers_all_thresholds_simultaneously() -> None:
    grid = np.linspace(0.5, 1.0, 41)
    truth = 1 - np.clip((grid - 0.5) / 0.5, 0, 1)
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        band = profile_band(above(0.5 + 0.5 * rng.random(60), grid), draws=400)
        covered.append(bool(np.all((band.low <= truth) & (truth <= band.high))))
    assert 0.92 <= np.mean(covered) <= 0.99


def test_the_band_of_a_difference_covers_all_thresholds_simultaneously() -> None:
    grid = np.linspace(0.5, 1.0, 41)
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(200):
        configuration = rng.random(60)
        first = 0.5 + 0.5 * np.clip(configuration + 0.1 * rng.normal(size=60), 0, 1)
        second = 0.5 + 0.5 * np.clip(configuration + 0.1 * rng.normal(size=60), 0, 1)
        band = profile_band(above(first, grid) - above(second, grid), lowest=-1.0, draws=400)
        covered.append(bool(np.all((band.low <= 0) & (band.high >= 0))))
    assert np.mean(covered) >= 0.92


def test_few_configurations_have_a_bound_that_needs_no_bootstrap() -> None:
    band = profile_band(above([0.7], np.array([0.6, 0.8])))
    assert band.low.tolist() == [0.0, 0.0]
    assert band.high.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("n", [29, 40])
def test_configurations_that_all_agree_have_a_band_of_positive_width(n: int) -> None:
    band = profile_band(above([0.7] * n, np.array([0.6, 0.8])))
    width = np.sqrt(np.log(2 / 0.05) / (2 * n))
    assert band.low == pytest.approx([1 - width, 0.0])
    assert band.high == pytest.approx([1.0, width])


@pytest.mark.parametrize("n", [6, 12, 29])
def test_the_band_of_few_configurations_covers_all_thresholds_simultaneously(n: int) -> None:
    grid = np.linspace(0.5, 1.0, 51)
    truth = 1 - (grid - 0.5) / 0.5
    rng = np.random.default_rng(n)
    bands = [profile_band(above(0.5 + 0.5 * rng.random(n), grid)) for _ in range(400)]
    assert np.mean([np.all((band.low <= truth) & (truth <= band.high)) for band in bands]) >= 0.94


@pytest.mark.parametrize("n", [5, 12, 29])
def test_the_band_of_a_difference_of_few_configurations_covers_however_the_arms_depend(n: int) -> None:
    grid = np.linspace(0.0, 1.0, 51)
    rng = np.random.default_rng(n)
    for second in (lambda first: rng.random(len(first)), lambda first: 1 - first, lambda first: (first + 0.5) % 1):
        covered = []
        for _ in range(300):
            first = rng.random(n)
            band = profile_band(above(first, grid) - above(second(first), grid), lowest=-1.0)
            covered.append(bool(np.all((band.low <= 0) & (band.high >= 0))))
        assert np.mean(covered) >= 0.96


def test_replicates_do_not_make_a_configuration_count_twice() -> None:
    """Three replicates that agree carry no more information than one."""
    grid = np.linspace(0.5, 1.0, 11)
    scores = np.linspace(0.5, 1.0, 30)
    once = profile_band(above(scores, grid))
    thrice = profile_band(np.stack([above([score] * 3, grid).mean(axis=0) for score in scores]))
    assert np.array_equal(once.low, thrice.low)
