"""Referral under resampling, and calibration, against independent computations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robustness import metrics
from robustness.statistics.calibration import calibration_buckets
from robustness.statistics.proportions import wilson
from robustness.statistics.referral import patient_weights, referred_aucs

FRACTIONS = (0.0, 0.1, 0.3, 0.5)


def brute_force_auc(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """AUC by comparing every positive with every negative."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    if not len(positive) or not len(negative):
        return math.nan
    gaps = positive[:, None] - negative[None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 40))
def test_a_resample_has_the_auc_of_the_images_repeated_by_their_weights(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    scores = rng.integers(0, 8, count) / 8  # with ties
    uncertainty = rng.permutation(count).astype(float)
    weights = np.concatenate([np.ones((1, count)), rng.integers(0, 4, (5, count))])
    both = np.stack([1 - scores, scores], axis=1)
    aucs = referred_aucs(labels, both, uncertainty, FRACTIONS, weights)
    np.testing.assert_allclose(aucs[0], metrics.referral_curve(labels, scores, uncertainty, FRACTIONS), atol=1e-12)
    for row, counts in enumerate(weights.astype(int)):
        most_certain = np.argsort(np.repeat(uncertainty, counts), kind="stable")
        repeated, values = np.repeat(labels, counts)[most_certain], np.repeat(scores, counts)[most_certain]
        for place, fraction in enumerate(FRACTIONS):
            kept = len(repeated) - math.floor(fraction * len(repeated) + 1e-9)
            expected = brute_force_auc(repeated[:kept], values[:kept])
            np.testing.assert_allclose(aucs[row, place], expected, atol=1e-12)


def test_with_more_than_two_classes_it_is_the_mean_one_vs_rest_auc() -> None:
    rng = np.random.default_rng(0)
    labels, probabilities = rng.integers(0, 3, 50), rng.dirichlet((1, 1, 1), 50)
    aucs = referred_aucs(labels, probabilities, np.zeros(50), (0.0,), np.ones((1, 50)))
    each = [brute_force_auc((labels == c).astype(int), probabilities[:, c]) for c in range(3)]
    assert aucs[0, 0] == pytest.approx(np.mean(each))


def test_the_standard_error_agrees_with_a_plain_bootstrap_over_patients() -> None:
    rng = np.random.default_rng(1)
    labels, patients = rng.integers(0, 2, 80), np.arange(80) // 2
    scores, uncertainty = labels + rng.normal(0, 1, 80), rng.random(80)
    both = np.stack([-scores, scores], axis=1)
    weights = patient_weights(patients, 2000)
    assert (weights[:, ::2] == weights[:, 1::2]).all()
    assert (weights.sum(axis=1) == 80).all()
    ours = referred_aucs(labels, both, uncertainty, (0.2,), weights)[:, 0].std(ddof=1)

    def referred(*arrays: NDArray[np.float64]) -> float:
        truth, values, doubt = arrays
        return float(metrics.referral_curve(truth, values, doubt, (0.2,))[0])

    theirs = metrics.bootstrap_standard_error(referred, (labels, scores, uncertainty), 1000, patients)
    assert ours == pytest.approx(theirs, rel=0.1)


def test_buckets_of_independent_images_have_wilsons_interval() -> None:
    rng = np.random.default_rng(3)
    probabilities = rng.random((1, 500))
    events = rng.random((1, 500)) < probabilities
    buckets = calibration_buckets(events, probabilities, np.arange(500))
    assert [bucket.lower for bucket in buckets] == pytest.approx(np.arange(10) / 10)
    assert sum(bucket.count for bucket in buckets) == 500
    for bucket in buckets:
        inside = (probabilities >= bucket.lower - 1e-12) & (probabilities < bucket.lower + 0.1 - 1e-12)
        assert bucket.share == pytest.approx(events[inside].mean())
        assert bucket.probability == pytest.approx(probabilities[inside].mean())
        expected = wilson(bucket.share, bucket.count)
        assert (bucket.low, bucket.high) == pytest.approx((expected.low, expected.high))


def test_repeated_predictions_for_a_patient_do_not_narrow_the_interval() -> None:
    probabilities = np.full((1, 40), 0.35)
    events = np.arange(40)[None] % 3 == 0
    once = calibration_buckets(events, probabilities, np.arange(40))[0]
    by_two_models = calibration_buckets(np.tile(events, (2, 1)), np.tile(probabilities, (2, 1)), np.arange(40))[0]
    two_images = calibration_buckets(
        np.repeat(events, 2, axis=1), np.repeat(probabilities, 2, axis=1), np.arange(80) // 2
    )[0]
    assert by_two_models.count == two_images.count == 2 * once.count
    for other in (by_two_models, two_images):
        assert (other.low, other.high) == pytest.approx((once.low, once.high))
    certain = calibration_buckets(np.ones((1, 6)), np.full((1, 6), 0.95), np.arange(6) // 2)[0]
    assert certain.low == pytest.approx(wilson(1.0, 3).low)
