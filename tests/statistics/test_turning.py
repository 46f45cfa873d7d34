"""Turning points are detected where there is one, and not in noise."""

from __future__ import annotations

import numpy as np
import pytest

from robustness.statistics.turning import may_turn, neighbour_noise, smoothed, turning_point

LENGTHS = (15, 40, 150)


@pytest.mark.parametrize("n", LENGTHS)
def test_noise_about_a_level_or_a_rising_curve_rarely_has_a_turning_point(n: int) -> None:
    rng = np.random.default_rng(n)
    epochs = np.arange(1, n + 1)
    rising = 1 - np.exp(-6 * epochs / n)
    for shape in (np.zeros(n), rising, epochs / n):
        turns = [turning_point(epochs, shape + 0.03 * rng.normal(size=n)) for _ in range(300)]
        assert sum(turn is not None for turn in turns) <= 6


@pytest.mark.parametrize("n", LENGTHS)
def test_the_turning_point_is_the_end_of_a_plateau(n: int) -> None:
    rng = np.random.default_rng(n)
    epochs = np.arange(1, n + 1)
    bend = 0.6 * n
    shape = 0.8 - 0.5 * np.maximum(0, epochs - bend) / n
    turns = [turning_point(epochs, shape + 0.02 * rng.normal(size=n)) for _ in range(100)]
    places = [turn.epoch for turn in turns if turn is not None]
    assert len(places) >= 95
    assert abs(np.median(places) - bend) <= 0.08 * n
    levels = [turn for turn in turns if turn is not None]
    assert np.mean([turn.best for turn in levels]) == pytest.approx(0.8, abs=0.03)
    assert np.mean([turn.end for turn in levels]) == pytest.approx(0.6, abs=0.06)


def test_turning_up_is_turning_down_with_the_opposite_sign() -> None:
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


def test_a_temporary_dip_is_not_a_turning_point() -> None:
    epochs = np.arange(1, 101)
    values = 0.8 - 0.3 * np.exp(-(((epochs - 50) / 8) ** 2)) + 0.01 * np.random.default_rng(3).normal(size=100)
    assert turning_point(epochs, values) is None


def test_nans_are_skipped_and_short_or_constant_series_have_no_turning_point() -> None:
    epochs = np.arange(1, 61)
    values = np.where(epochs < 40, 0.8, 0.8 - 0.02 * (epochs - 40)) + 0.01 * np.random.default_rng(4).normal(size=60)
    gaps = values.copy()
    gaps[::3] = np.nan
    turn, complete = turning_point(epochs, gaps), turning_point(epochs, values)
    assert turn is not None
    assert complete is not None
    assert abs(turn.epoch - complete.epoch) <= 4
    assert turning_point(epochs[:9], values[-9:]) is None
    assert turning_point(epochs, np.full(60, 0.8)) is None
    assert turning_point(epochs, np.full(60, np.nan)) is None
    assert turning_point([], []) is None


def test_the_running_mean_narrows_at_the_ends_and_preserves_a_straight_line() -> None:
    line = np.arange(20.0)
    assert smoothed(line, 5) == pytest.approx(line)
    values = np.random.default_rng(5).normal(size=20)
    by_hand = [values[max(0, i - min(2, i, 19 - i)) : i + min(2, i, 19 - i) + 1].mean() for i in range(20)]
    assert smoothed(values, 5) == pytest.approx(by_hand)


def test_the_noise_of_normal_values_is_their_standard_deviation_for_any_slope() -> None:
    values = np.random.default_rng(6).normal(scale=0.3, size=20_000)
    assert neighbour_noise(values) == pytest.approx(0.3, rel=0.03)
    assert neighbour_noise(values + 1e-3 * np.arange(20_000)) == pytest.approx(0.3, rel=0.03)


@pytest.mark.parametrize("up", [False, True])
def test_series_that_are_not_worth_a_look_do_not_turn(up: bool) -> None:
    rng = np.random.default_rng(3)
    epochs = np.arange(60)
    peak = np.maximum(0, 20 - np.abs(epochs - 30)) * rng.choice([-0.2, 0.0, 0.05, 0.2], size=(300, 1))
    values = peak + rng.normal(size=(300, 60))
    values[::7, 11] = np.nan
    turned = np.array([turning_point(epochs, row, up=up) is not None for row in values])
    worth = may_turn(values, up)
    assert 20 < turned.sum() < 200
    assert not (turned & ~worth).any()
    assert (~worth).sum() > 50
    assert not may_turn(values[:, :9], up).any(), "too short to turn"
