from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from robustness.statistics.means import mean_test

SAMPLES = st.lists(st.floats(-10, 10).map(lambda value: round(value, 3)), min_size=2, max_size=40)


def hall(sample: np.ndarray, mean: float) -> float:
    """Hall's transform of Student's statistic of `mean`, term by term."""
    n, s = len(sample), float(sample.std(ddof=1))
    g = float(np.mean((sample - sample.mean()) ** 3)) / s**3
    t = (float(sample.mean()) - mean) * math.sqrt(n) / s
    return t + g * t**2 / (3 * math.sqrt(n)) + g**2 * t**3 / (27 * n) + g / (6 * math.sqrt(n))


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_spans_students_and_the_one_corrected_for_skewness(seed: int) -> None:
    sample = np.random.default_rng(seed).exponential(size=15) - 1.3
    tested = mean_test(sample)
    student = stats.ttest_1samp(sample, 0)
    low, high = student.confidence_interval()
    limit = stats.t.ppf(0.975, 14)
    ends = [brentq(lambda mean, at=at: hall(sample, mean) - at, -50, 50) for at in (limit, -limit)]
    assert tested.interval.low == pytest.approx(min(low, ends[0]))
    assert tested.interval.high == pytest.approx(max(high, ends[1]))
    corrected = 2 * stats.t.sf(abs(hall(sample, 0.0)), 14)
    assert tested.p_value == pytest.approx(max(student.pvalue, corrected))


def test_without_skewness_it_is_students_own() -> None:
    sample = np.array([-2.0, -1.0, 0.5, 2.0, 3.5, 4.5]) + 0.3
    assert stats.skew(sample) == pytest.approx(0, abs=1e-12)
    tested = mean_test(sample)
    student = stats.ttest_1samp(sample, 0)
    assert (tested.interval.low, tested.interval.high) == pytest.approx(tuple(student.confidence_interval()))
    assert tested.p_value == pytest.approx(student.pvalue)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(SAMPLES)
def test_the_interval_leaves_out_zero_exactly_when_p_is_below_005(values: list[float]) -> None:
    tested = mean_test(values)
    if tested.p_value is None or tested.interval.method.startswith("none"):
        assert math.isnan(tested.interval.low)
        assert tested.p_value in (None, 1.0)
    else:
        assert (tested.interval.low > 0 or tested.interval.high < 0) is (tested.p_value < 0.05)
        assert tested.interval.low < tested.interval.high
        mirrored = mean_test([-value for value in values])
        assert mirrored.p_value == pytest.approx(tested.p_value)
        assert mirrored.interval.low == pytest.approx(-tested.interval.high)


@pytest.mark.parametrize(
    ("values", "why", "p_value"),
    [
        ([], "no observations", None),
        ([0.4], "a single configuration", None),
        ([0.0] * 9, "all configurations are equal", 1.0),
        ([0.1] * 9, "all configurations are equal", None),
        ([0.01, -0.02, 0.0, 0.01, -0.3, 0.02], "fewer than 12 configurations, in two separate groups", None),
        ([0.01, -0.02, 0.0, 0.01, 0.02] * 2 + [-0.3], "fewer than 12 configurations, in two separate groups", None),
    ],
)
def test_some_samples_have_no_interval_and_say_why(values: list[float], why: str, p_value: float | None) -> None:
    tested = mean_test(values)
    assert tested.interval.method == f"none: {why}"
    assert tested.p_value == p_value


def test_differences_too_small_for_their_powers_have_no_interval() -> None:
    values = np.random.default_rng(0).normal(size=20)
    tiny = mean_test(values * 1e-200)
    assert tiny.interval.method == "none: all configurations are equal"
    assert tiny.p_value is None
    # The same sample on another scale has the same test.
    for scale in (1e-50, 1e59):
        assert mean_test(values * scale).p_value == pytest.approx(mean_test(values).p_value, rel=1e-9)


def test_twelve_configurations_in_two_groups_have_an_interval() -> None:
    assert mean_test([0.01, -0.02, 0.0, 0.01, 0.02] * 2 + [-0.3, -0.31]).p_value is not None
