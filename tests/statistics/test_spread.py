from __future__ import annotations

import math

import numpy as np
import pytest

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
    failing = np.concatenate([np.full(9, 0.5), 0.8 + 0.01 * rng.normal(size=81)])
    assert "gap" in spread_differences(failing, rng.normal(size=90))["lower_decile"].interval.method
    assert few["sd"].interval.method == "none: fewer than 30 configurations"
    assert not math.isnan(few["cvar"].interval.low)
    assert math.isnan(spread_differences(rng.normal(size=11), rng.normal(size=11))["iqr"].interval.low)
    outlier = np.concatenate([rng.normal(size=89), [80.0]])
    assert "single configuration" in spread_differences(outlier, rng.normal(size=90))["sd"].interval.method


def test_shifting_an_arm_changes_no_spread() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=90), rng.normal(size=90)
    one, two = spread_differences(first, second), spread_differences(first + 5.0, second)
    for name in ("sd", "iqr"):
        assert two[name].interval.high == pytest.approx(one[name].interval.high, abs=1e-9)
