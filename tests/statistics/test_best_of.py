from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from robustness.statistics.best_of import Crossing, Win, crossing, equal_hours, wins
from robustness.statistics.proportions import Interval


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_probability_is_that_of_all_pairs_of_subsets(n: int) -> None:
    first, second = np.array([0.1, 0.5, 0.5, 0.7, 0.2, 0.9]), np.array([0.5, 0.3, 0.7, 0.6, 0.1, 0.2])
    best = [[max(subset) for subset in combinations(scores, n)] for scores in (first, second)]
    expected = np.mean([(a > b) + (a == b) / 2 for a in best[0] for b in best[1]])
    assert wins(first, second, [(n, n)])[0].probability == pytest.approx(expected)


def test_budgets_may_differ_between_the_arms() -> None:
    first, second = np.array([1.0, 4.0, 5.0]), np.array([2.0, 3.0, 6.0])
    best = [max(subset) for subset in combinations(second, 2)]
    expected = np.mean([a > b for a in first for b in best])
    assert wins(first, second, [(1, 2)])[0].probability == pytest.approx(expected)


def test_swapping_the_arms_gives_the_complement() -> None:
    first, second = np.random.default_rng(0).normal(size=(2, 40))
    one, two = wins(first, second, [(4, 4)])[0], wins(second, first, [(4, 4)])[0]
    assert one.probability == pytest.approx(1 - two.probability)
    assert one.interval.low == pytest.approx(1 - two.interval.high)


def test_beyond_the_limit_there_is_no_interval_and_the_reason_is_given() -> None:
    first, second = np.random.default_rng(1).normal(size=(2, 40))
    near, far = wins(first, second, [(4, 4), (5, 5)])
    assert near.interval.low < near.probability < near.interval.high
    assert math.isnan(far.interval.low)
    assert "tenth" in far.interval.method


def test_an_arm_that_always_won_may_lose_with_other_configurations() -> None:
    scores = np.arange(40.0)
    win = wins(scores + 100.0, scores, [(3, 3)])[0]
    low, high = proportion_confint(6, 6, method="wilson")  # six contests of 3 + 3 of the 40 configurations
    assert win.probability == 1.0
    assert (win.interval.low, win.interval.high) == pytest.approx((low, high))
    lost = wins(scores, scores + 100.0, [(3, 3)])[0]
    assert (lost.interval.low, lost.interval.high) == pytest.approx((1 - high, 1 - low))


def test_a_nearly_certain_win_is_covered() -> None:
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(100):
        # The first arm fails in 3 % and else always wins: P is 0.97.
        fails = rng.random(86) < 0.03
        interval = wins(np.where(fails, 0.0, 2.0), np.ones(86), [(1, 1)])[0].interval
        missed += not interval.low <= 0.97 <= interval.high
    assert missed <= 10


def test_the_crossing_is_where_the_favourite_changes() -> None:
    # The first arm is better on most configurations, the second has the best ones.
    first = np.concatenate([np.full(30, 0.7), np.full(10, 0.71)])
    second = np.concatenate([np.full(30, 0.5), np.full(10, 0.9)])
    found = wins(first, second, [(n, n) for n in range(1, 11)])
    crossed = crossing(found)
    assert found[0].probability > 0.5 > found[-1].probability
    assert crossed.trials == next(win.first for win in found if win.probability < 0.5)
    assert crossing(wins(second + 1, first, [(1, 1), (2, 2)])).trials is None


def test_the_range_of_a_crossing_is_open_where_the_last_interval_still_is() -> None:
    def win(trials: int, low: float, high: float) -> Win:
        return Win(trials, trials, 0.55, Interval(low, high, "any"))

    none = Win(20, 20, 0.4, Interval.none("beyond a tenth"))
    assert crossing([win(1, 0.6, 0.8), win(2, 0.4, 0.7), win(4, 0.3, 0.6), none]) == Crossing(20, 2, None)
    assert crossing([win(1, 0.4, 0.6), win(2, 0.45, 0.7), win(4, 0.6, 0.9), none]) == Crossing(20, 1, 2)


def test_equal_hours_buy_each_arm_its_own_number_of_trials() -> None:
    assert equal_hours(6.0, 1.0, 2.0, 10) == (6, 3)
    assert equal_hours(1.0, 1.0, 2.0, 10) is None
    assert equal_hours(20.0, 1.0, 2.0, 10) is None
