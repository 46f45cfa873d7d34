from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from robustness.statistics.spread import MEASURES, spread, spread_differences


def test_each_measure_is_numpys_or_counted_by_hand() -> None:
    scores = np.random.default_rng(0).normal(size=40)
    found = spread(scores)
    assert found["sd"] == pytest.approx(scores.std(ddof=1))
    assert found["iqr"] == pytest.approx(np.subtract(*np.quantile(scores, [0.75, 0.25])))
    assert found["lower_decile"] == pytest.approx(np.quantile(scores, 0.1))
    assert found["cvar"] == pytest.approx(np.sort(scores)[:10].mean())
    assert found["regret"] == pytest.approx(scores.max() - scores.mean())


def test_a_quarter_that_ends_within_a_score_takes_its_part() -> None:
    assert spread(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))["cvar"] == pytest.approx((1 * 1.0 + 0.5 * 2.0) / 1.5)


def test_an_interval_contains_the_difference_and_is_the_same_each_time() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=90), 0.5 * rng.normal(size=90)
    found = spread_differences(first, second)
    for name in MEASURES:
        if name != "regret":
            assert found[name].interval.low < found[name].difference < found[name].interval.high
            assert found[name].difference == pytest.approx(spread(first)[name] - spread(second)[name])
    again = spread_differences(first, second)
    assert [again[name].interval.high for name in MEASURES[:4]] == [found[name].interval.high for name in MEASURES[:4]]


def test_where_resampling_fails_there_is_no_interval_and_the_reason_is_given() -> None:
    rng = np.random.default_rng(2)
    few = spread_differences(rng.normal(size=20), rng.normal(size=20))
    assert math.isnan(few["regret"].interval.low)
    assert "no resample" in few["regret"].interval.method
    assert few["lower_decile"].interval.method == "none: fewer than 30 configurations"
    assert few["sd"].interval.method == "none: fewer than 30 configurations"
    assert not math.isnan(few["cvar"].interval.low)
    assert math.isnan(spread_differences(rng.normal(size=11), rng.normal(size=11))["iqr"].interval.low)
    outlier = np.concatenate([rng.normal(size=89), [80.0]])
    assert "single configuration" in spread_differences(outlier, rng.normal(size=90))["sd"].interval.method


def test_a_decile_beside_a_gap_has_the_order_statistics_that_scipy_finds() -> None:
    rng = np.random.default_rng(4)
    failing = np.concatenate([np.full(9, 0.5), 0.8 + 0.01 * rng.normal(size=77)])
    other = 0.7 + 0.01 * rng.normal(size=86)
    found = spread_differences(failing, other)["lower_decile"].interval
    # The types of scipy know a float here.
    ends: list[Any] = [stats.quantile_test(each, q=0.0, p=0.1).confidence_interval(0.95) for each in (failing, other)]
    assert found.low == pytest.approx(ends[0].low - ends[1].high)
    assert found.high == pytest.approx(ends[0].high - ends[1].low)
    assert found.method == "order statistics"
    # The failures may be 5 % or 15 % of all configurations: the decile is 0.5 or about 0.8.
    assert found.low < 0.5 - 0.68
    assert found.high > 0.77 - 0.7


@pytest.mark.parametrize("shares", [(0.09, 0.11), (0.15, 0.1)])
def test_a_decile_beside_a_gap_is_covered(shares: tuple[float, float]) -> None:
    rng = np.random.default_rng(5)
    # 0.5 where an arm fails, else between 0.7 and 0.9: the decile is where the uniform share reaches 0.1.
    first, second = (0.5 if share > 0.1 else 0.7 + 0.2 * (0.1 - share) / (1 - share) for share in shares)
    missed = 0
    for _ in range(40):
        fails, scores = rng.random((2, 30)), 0.7 + 0.2 * rng.random((2, 30))
        arms = np.where(fails < np.array(shares)[:, None], 0.5, scores)
        interval = spread_differences(*arms)["lower_decile"].interval
        missed += not interval.low <= first - second <= interval.high
    assert missed <= 5


def test_resamples_without_a_huge_score_do_not_overflow() -> None:
    scores = np.full(40, 1e-200)
    scores[:6] = -1e59
    found = spread_differences(scores, np.roll(np.random.default_rng(0).normal(size=40), 1))
    assert math.isfinite(found["sd"].interval.low)
    assert found["sd"].first == pytest.approx(np.std(scores, ddof=1))


def test_shifting_an_arm_changes_no_spread() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=90), rng.normal(size=90)
    one, two = spread_differences(first, second), spread_differences(first + 5.0, second)
    for name in ("sd", "iqr"):
        assert two[name].interval.high == pytest.approx(one[name].interval.high, abs=1e-9)
