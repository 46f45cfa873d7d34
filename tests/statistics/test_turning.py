"""Where a series turns: found where there is a turn, and not where there is only noise."""

from __future__ import annotations

import numpy as np
import pytest

from robustness.statistics.turning import neighbour_noise, smoothed, turning_point

LENGTHS = (15, 40, 150)


@pytest.mark.parametrize("n", LENGTHS)
def test_noise_about_a_level_or_a_rising_curve_is_hardly_ever_taken_for_a_turn(n: int) -> None:
    rng = np.random.default_rng(n)
    epochs = np.arange(1, n + 1)
    rising = 1 - np.exp(-6 * epochs / n)
    for shape in (np.zeros(n), rising, epochs / n):
        found = [turning_point(epochs, shape + 0.03 * rng.normal(size=n)) for _ in range(300)]
        assert sum(turn is not None for turn in found) <= 6


@pytest.mark.parametrize("n", LENGTHS)
def test_a_plateau_that_is_left_turns_where_it_is_left(n: int) -> None:
    rng = np.random.default_rng(n)
    epochs = np.arange(1, n + 1)
    bend = 0.6 * n
    shape = 0.8 - 0.5 * np.maximum(0, epochs - bend) / n
    found = [turning_point(epochs, shape + 0.02 * rng.normal(size=n)) for _ in range(100)]
    places = [turn.epoch for turn in found if turn is not None]
    assert len(places) >= 95
    assert abs(np.median(places) - bend) <= 0.08 * n
    levels = [turn for turn in found if turn is not None]
    assert np.mean([turn.best for turn in levels]) == pytest.approx(0.8, abs=0.03)
    assert np.mean([turn.end for turn in levels]) == pytest.approx(0.6, abs=0.06)


def test_turning_up_is_turning_down_with_the_other_sign() -> None:
    rng = np.random.default_rng(1)
    epochs = np.arange(2, 120, 2)
    values = np.maximum(0, epochs - 60) / 100 + 0.03 * rng.normal(size=len(epochs))
    up, down = turning_point(epochs, values, up=True), turning_point(epochs, -values)
    assert up is not None
    assert down is not None
    assert (up.epoch, up.best, up.end, up.fall) == (down.epoch, -down.best, -down.end, down.fall)
    assert turning_point(epochs, values) is None


def test_a_series_that_falls_from_the_start_turns_at_its_start() -> None:
    epochs = np.arange(1, 41)
    values = 1 - epochs / 40 + 0.01 * np.random.default_rng(2).normal(size=40)
    turn = turning_point(epochs, values)
    assert turn is not None
    assert turn.epoch <= 4


def test_a_dip_that_is_made_up_for_is_no_turn() -> None:
    epochs = np.arange(1, 101)
    values = 0.8 - 0.3 * np.exp(-(((epochs - 50) / 8) ** 2)) + 0.01 * np.random.default_rng(3).normal(size=100)
    assert turning_point(epochs, values) is None


def test_what_is_not_a_number_is_left_out_and_short_or_constant_series_have_no_turn() -> None:
    epochs = np.arange(1, 61)
    values = np.where(epochs < 40, 0.8, 0.8 - 0.02 * (epochs - 40)) + 0.01 * np.random.default_rng(4).normal(size=60)
    gaps = values.copy()
    gaps[::3] = np.nan
    turn, whole = turning_point(epochs, gaps), turning_point(epochs, values)
    assert turn is not None
    assert whole is not None
    assert abs(turn.epoch - whole.epoch) <= 4
    assert turning_point(epochs[:9], values[-9:]) is None
    assert turning_point(epochs, np.full(60, 0.8)) is None
    assert turning_point(epochs, np.full(60, np.nan)) is None
    assert turning_point([], []) is None


def test_the_running_mean_is_shorter_at_the_ends_and_keeps_a_straight_line() -> None:
    line = np.arange(20.0)
    assert smoothed(line, 5) == pytest.approx(line)
    values = np.random.default_rng(5).normal(size=20)
    by_hand = [values[max(0, i - min(2, i, 19 - i)) : i + min(2, i, 19 - i) + 1].mean() for i in range(20)]
    assert smoothed(values, 5) == pytest.approx(by_hand)


def test_the_noise_of_normal_values_is_their_standard_deviation_whatever_the_slope() -> None:
    values = np.random.default_rng(6).normal(scale=0.3, size=20_000)
    assert neighbour_noise(values) == pytest.approx(0.3, rel=0.03)
    assert neighbour_noise(values + 1e-3 * np.arange(20_000)) == pytest.approx(0.3, rel=0.03)
