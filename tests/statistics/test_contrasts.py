from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from robustness.statistics.contrasts import outcome_contrast, score_contrast
from robustness.statistics.paired import paired_test


def test_two_arms_are_compared_as_always() -> None:
    rng = np.random.default_rng(0)
    outcomes, owners = rng.random((90, 2)) < [0.5, 0.3], np.repeat(np.arange(30), 3)
    contrast = outcome_contrast(outcomes, [1.0, -1.0], owners)
    tested = paired_test(outcomes[:, 0], outcomes[:, 1], owners)
    assert contrast.value == pytest.approx(tested.difference)
    assert (contrast.interval.low, contrast.interval.high) == pytest.approx((tested.interval.low, tested.interval.high))
    assert contrast.p_value == pytest.approx(tested.p_value)
    assert contrast.effective == pytest.approx(tested.effective)


def test_the_mean_of_two_arms_against_two_has_the_variance_of_its_values() -> None:
    rng = np.random.default_rng(1)
    outcomes = rng.random((4000, 4)) < [0.5, 0.4, 0.3, 0.2]
    weights = np.array([0.5, 0.5, -0.5, -0.5])
    contrast = outcome_contrast(outcomes, weights, np.arange(4000))
    values = outcomes @ weights
    half = stats.norm.ppf(0.975) * values.std() / np.sqrt(4000)
    assert contrast.value == pytest.approx(values.mean())
    assert contrast.interval.high - contrast.interval.low == pytest.approx(2 * half, rel=0.02)


def test_weights_scale_the_contrast_and_its_margin() -> None:
    rng = np.random.default_rng(2)
    outcomes = rng.random((60, 3)) < [0.3, 0.3, 0.3]
    one = outcome_contrast(outcomes, [1.0, -0.5, -0.5], np.arange(60), margin=0.2)
    two = outcome_contrast(outcomes, [2.0, -1.0, -1.0], np.arange(60), margin=0.4)
    assert two.value == pytest.approx(2 * one.value)
    assert two.interval.high == pytest.approx(2 * one.interval.high)
    assert one.equivalence is not None
    assert two.equivalence is not None
    assert two.equivalence.p_value == pytest.approx(one.equivalence.p_value)


def test_scores_are_tested_on_the_contrast_of_each_configuration() -> None:
    half = np.array([[0.1, 0.0, 0.0], [0.6, 0.1, 0.2], [0.3, -0.2, 0.4], [0.9, 0.3, 0.1], [0.2, 0.4, 0.0], [1.0, 0, 0]])
    scores = np.concatenate([half, 0.2 - half])
    values = scores @ np.array([1.0, -0.5, -0.5])
    contrast = score_contrast(scores, [1.0, -0.5, -0.5], np.arange(12), margin=1.0)
    assert contrast.p_value == pytest.approx(stats.ttest_1samp(values, 0.0).pvalue, rel=0.05)
    assert contrast.equivalence is not None
    assert contrast.equivalence.interval.high < 1.0
