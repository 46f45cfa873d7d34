"""Gains under no learning and thresholds by cell, against normal distributions whose quantiles are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from robustness.sweep.chance_points import cell_points
from robustness.sweep.gains import gain_point, random_gains


def networks(spread: float, sampling: float, centre: float = 0.7, count: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Scores with the variance of both parts, and their resamples with sampling error alone."""
    generator = np.random.default_rng(0)
    scores = centre + math.hypot(spread, sampling) * generator.standard_normal(count)
    return scores, scores[:, None] + sampling * generator.standard_normal((count, 200))


@pytest.mark.parametrize(("spread", "sampling"), [(0.03, 0.0), (0.03, 0.02), (0.0, 0.02)])
def test_networks_and_patients_together_vary_as_the_scores_do(spread: float, sampling: float) -> None:
    scores, resampled = networks(spread, sampling)
    gains = random_gains(scores, resampled, 1, True, 200_000, np.random.default_rng(1))
    sd = math.sqrt(2) * math.hypot(spread, sampling)
    assert gains.std() == pytest.approx(sd, rel=0.05)
    assert np.quantile(gains, 0.99) == pytest.approx(sd * norm.ppf(0.99), rel=0.06)


def test_sampling_error_beyond_the_spread_of_scores_counts_in_full() -> None:
    scores, _ = networks(0.01, 0.0)
    resampled = scores[:, None] + 0.04 * np.random.default_rng(2).standard_normal((len(scores), 200))
    gains = random_gains(scores, resampled, 1, True, 100_000, np.random.default_rng(3))
    assert gains.std() == pytest.approx(math.sqrt(2) * 0.04, rel=0.05)


def test_error_that_networks_share_cancels() -> None:
    scores, _ = networks(0.02, 0.0)
    shared = 0.1 * np.random.default_rng(4).standard_normal((1, 200))
    gains = random_gains(scores, scores[:, None] + shared, 1, False, 100_000, np.random.default_rng(5))
    assert gains.std() == pytest.approx(math.sqrt(2) * 0.02, rel=0.05)


def test_the_best_epoch_is_the_best_of_as_many_networks() -> None:
    scores, resampled = networks(0.03, 0.0)
    gains = random_gains(scores, resampled, 11, True, 100_000, np.random.default_rng(6))
    drawn = np.random.default_rng(7).standard_normal((100_000, 12))
    expected = 0.03 * (drawn[:, :11].max(axis=1) - drawn[:, 11])
    assert np.quantile(gains, 0.99) == pytest.approx(np.quantile(expected, 0.99), rel=0.06)


def test_networks_that_see_the_classes_the_wrong_way_round_are_folded() -> None:
    scores = np.tile([0.3, 0.7], 50)
    resampled = np.repeat(scores[:, None], 10, axis=1)
    assert random_gains(scores, resampled, 1, True, 1000, np.random.default_rng(8)).max() == pytest.approx(0, abs=1e-12)
    assert random_gains(scores, resampled, 1, False, 1000, np.random.default_rng(8)).max() == pytest.approx(0.4)


def test_a_new_network_seldom_gains_more_than_a_small_cell_allows() -> None:
    """With 25 networks a cell, over many cells: near 1 %, and the error says how far off one cell may be."""
    generator = np.random.default_rng(9)
    exceeded, covered = [], []
    true = 0.03 * math.sqrt(2) * norm.ppf(0.99)
    for number in range(60):

        def seeded(i: int, n: int = number) -> np.random.Generator:
            return np.random.default_rng([n, i])

        scores = 0.65 + 0.03 * generator.standard_normal(25)
        point = gain_point(
            scores,
            np.repeat(scores[:, None], 2, axis=1),
            1,
            0.01,
            True,
            seeded,
        )
        exceeded.append(norm.sf(point.value / (0.03 * math.sqrt(2))))
        covered.append(point.low <= true <= point.high)
        assert point.networks == 25
    assert np.mean(exceeded) < 0.02
    assert np.mean(covered) > 0.85


def test_cells_have_their_own_thresholds_that_one_per_cent_of_new_networks_exceed() -> None:
    generator = np.random.default_rng(10)
    places = {"a -6": (0.6, 0.04), "a -4": (0.5, 0.02), "a -2": (0.55, 0.08), "a 0": (0.5, 0.001)}
    exceeded: dict[str, list[float]] = {cell: [] for cell in places}
    for _ in range(60):
        scores = np.concatenate([m + s * generator.standard_normal(25) for m, s in places.values()])
        cells = [cell for cell in places for _ in range(25)]
        points = cell_points(scores, cells, ["a"] * 100, 0.01, generator)
        for cell, (mean, sd) in places.items():
            exceeded[cell].append(norm.sf((points[cell].value - mean) / sd))
            assert points[cell].low <= points[cell].value <= points[cell].high
    for cell, shares in exceeded.items():
        assert np.mean(shares) == pytest.approx(0.01, abs=0.008), cell


def test_networks_that_all_score_alike_are_the_threshold() -> None:
    points = cell_points(
        np.array([0.5] * 20 + [0.6] * 20), ["a"] * 20 + ["b"] * 20, ["x"] * 40, 0.01, np.random.default_rng()
    )
    assert (points["a"].value, points["b"].value) == pytest.approx((0.5, 0.6))
