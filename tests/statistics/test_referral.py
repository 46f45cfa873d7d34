"""Referral under resampling, differences of means over models, and calibration, against independent computations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from robustness import metrics
from robustness.statistics.calibration import calibration_buckets
from robustness.statistics.proportions import wilson
from robustness.statistics.referral import between, difference_of_means, patient_weights, referred_aucs

FRACTIONS = (0.0, 0.1, 0.3, 0.5)


def brute_force_auc(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """Over all pairs of a positive and a negative."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    if not len(positive) or not len(negative):
        return math.nan
    gaps = positive[:, None] - negative[None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 40))
def test_a_resample_has_the_auc_of_the_pictures_repeated_as_often(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    scores = rng.integers(0, 8, count) / 8  # with ties
    uncertainty = rng.permutation(count).astype(float)
    weights = np.concatenate([np.ones((1, count)), rng.integers(0, 4, (5, count))])
    both = np.stack([1 - scores, scores], axis=1)
    found = referred_aucs(labels, both, uncertainty, FRACTIONS, weights)
    np.testing.assert_allclose(found[0], metrics.referral_curve(labels, scores, uncertainty, FRACTIONS), atol=1e-12)
    for row, own in enumerate(weights.astype(int)):
        surest = np.argsort(np.repeat(uncertainty, own), kind="stable")
        repeated, values = np.repeat(labels, own)[surest], np.repeat(scores, own)[surest]
        for place, fraction in enumerate(FRACTIONS):
            kept = len(repeated) - math.floor(fraction * len(repeated) + 1e-9)
            expected = brute_force_auc(repeated[:kept], values[:kept])
            np.testing.assert_allclose(found[row, place], expected, atol=1e-12)


def test_with_more_classes_it_is_the_mean_of_each_class_against_the_rest() -> None:
    rng = np.random.default_rng(0)
    labels, probabilities = rng.integers(0, 3, 50), rng.dirichlet((1, 1, 1), 50)
    found = referred_aucs(labels, probabilities, np.zeros(50), (0.0,), np.ones((1, 50)))
    each = [brute_force_auc((labels == c).astype(int), probabilities[:, c]) for c in range(3)]
    assert found[0, 0] == pytest.approx(np.mean(each))


def test_the_error_is_that_of_the_plain_bootstrap_by_patient() -> None:
    rng = np.random.default_rng(1)
    labels, patients = rng.integers(0, 2, 80), np.arange(80) // 2
    scores, uncertainty = labels + rng.normal(0, 1, 80), rng.random(80)
    both = np.stack([-scores, scores], axis=1)
    weights = patient_weights(patients, 2000)
    assert (weights[:, ::2] == weights[:, 1::2]).all()
    assert (weights.sum(axis=1) == 80).all()
    ours = referred_aucs(labels, both, uncertainty, (0.2,), weights)[:, 0].std(ddof=1)

    def referred(*arrays: NDArray[np.float64]) -> float:
        return float(metrics.referral_curve(*arrays, (0.2,))[0])

    theirs = metrics.bootstrap_standard_error(referred, (labels, scores, uncertainty), 1000, patients)
    assert ours == pytest.approx(theirs, rel=0.1)


def test_without_the_pictures_chance_a_difference_is_welchs_test() -> None:
    first, second = [0.91, 0.93, 0.90, 0.95], [0.85, 0.88, 0.80]
    found = difference_of_means(first, second, np.full(100, 0.05))
    welch = stats.ttest_ind(first, second, equal_var=False)
    ends = welch.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert found.p_value == pytest.approx(welch.pvalue)
    assert found.models_error == pytest.approx(math.hypot(stats.sem(first), stats.sem(second)))
    assert found.pictures_error == pytest.approx(0.0, abs=1e-12)


def test_one_model_an_arm_leaves_the_pictures_chance_alone() -> None:
    resampled = np.random.default_rng(0).normal(0.05, 0.02, 1000)
    found = difference_of_means([0.9], [0.85], resampled)
    assert found.low == pytest.approx(0.05 - 1.959964 * resampled.std(ddof=1))
    assert math.isnan(found.models_error)
    assert math.isnan(between([0.9]))
    nothing = difference_of_means([0.9], [0.85], [math.nan, 0.0])
    assert math.isnan(nothing.low)
    assert nothing.difference == pytest.approx(0.05)


def test_buckets_of_independent_pictures_have_wilsons_interval() -> None:
    rng = np.random.default_rng(3)
    probabilities = rng.random((1, 500))
    events = rng.random((1, 500)) < probabilities
    found = calibration_buckets(events, probabilities, np.arange(500))
    assert [bucket.lower for bucket in found] == pytest.approx(np.arange(10) / 10)
    assert sum(bucket.count for bucket in found) == 500
    for bucket in found:
        inside = (probabilities >= bucket.lower - 1e-12) & (probabilities < bucket.lower + 0.1 - 1e-12)
        assert bucket.share == pytest.approx(events[inside].mean())
        assert bucket.probability == pytest.approx(probabilities[inside].mean())
        expected = wilson(bucket.share, bucket.count)
        assert (bucket.low, bucket.high) == pytest.approx((expected.low, expected.high))


def test_what_is_said_twice_of_a_patient_makes_a_bucket_no_surer() -> None:
    probabilities = np.full((1, 40), 0.35)
    events = np.arange(40)[None] % 3 == 0
    once = calibration_buckets(events, probabilities, np.arange(40))[0]
    by_two_models = calibration_buckets(np.tile(events, (2, 1)), np.tile(probabilities, (2, 1)), np.arange(40))[0]
    two_pictures = calibration_buckets(
        np.repeat(events, 2, axis=1), np.repeat(probabilities, 2, axis=1), np.arange(80) // 2
    )[0]
    assert by_two_models.count == two_pictures.count == 2 * once.count
    for other in (by_two_models, two_pictures):
        assert (other.low, other.high) == pytest.approx((once.low, once.high))
    certain = calibration_buckets(np.ones((1, 6)), np.full((1, 6), 0.95), np.arange(6) // 2)[0]
    assert certain.low == pytest.approx(wilson(1.0, 3).low)
