from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from robustness import metrics


def test_auc_is_the_fraction_of_correctly_ordered_pairs() -> None:
    # Positives 0.9 and 0.4, negatives 0.5, 0.4 and 0.1: of 6 pairs 4 are correct and one is tied.
    assert metrics.auc([1, 1, 0, 0, 0], [0.9, 0.4, 0.5, 0.4, 0.1]) == pytest.approx(4.5 / 6)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
)
def test_auc_equals_the_mann_whitney_statistic_with_ties(positives: list[int], negatives: list[int]) -> None:
    labels = [1] * len(positives) + [0] * len(negatives)
    statistic = mannwhitneyu(positives, negatives, method="asymptotic").statistic
    expected = statistic / (len(positives) * len(negatives))
    assert metrics.auc(labels, positives + negatives) == pytest.approx(expected, abs=1e-12)


def test_multiclass_auc_is_that_of_class_1_or_the_mean_over_one_vs_rest() -> None:
    labels = np.array([0, 1, 1, 0])
    two = np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1], [0.7, 0.3]])
    assert metrics.multiclass_auc(labels, two) == metrics.auc(labels, two[:, 1]) == 0.5
    labels = np.array([0, 1, 2, 1])
    three = np.array([[0.6, 0.3, 0.1], [0.5, 0.2, 0.3], [0.1, 0.2, 0.7], [0.2, 0.7, 0.1]])
    # Class 0: all three negatives are below; class 1: 0.2 loses once and ties once, 0.7 wins twice; class 2: all below.
    assert metrics.multiclass_auc(labels, three) == pytest.approx((1 + 2.5 / 4 + 1) / 3)


def test_auc_of_one_class_or_of_nan_scores_is_nan() -> None:
    assert math.isnan(metrics.auc([1, 1], [0.1, 0.2]))
    assert math.isnan(metrics.auc([], []))
    assert math.isnan(metrics.auc([0, 1], [0.1, math.nan]))


def test_accuracy_and_nll_match_hand_computed_values() -> None:
    probabilities = [[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]]
    assert metrics.accuracy([0, 0, 0], probabilities) == pytest.approx(2 / 3)
    expected = -(math.log(0.8) + math.log(0.6) + math.log(0.5)) / 3
    assert metrics.nll([0, 1, 1], probabilities) == pytest.approx(expected)


def test_nll_of_a_certain_but_wrong_prediction_is_large_but_finite() -> None:
    assert 80 < metrics.nll([1], [[1.0, 0.0]]) < 90


def test_identical_draws_have_zero_mutual_information() -> None:
    draws = np.broadcast_to([[0.7, 0.3], [1.0, 0.0]], (5, 2, 2))
    np.testing.assert_allclose(metrics.mutual_information(draws), 0.0, atol=1e-12)
    by_hand = -(0.7 * math.log(0.7) + 0.3 * math.log(0.3))
    np.testing.assert_allclose(metrics.predictive_entropy(draws), [by_hand, 0.0])


def test_draws_certain_of_opposite_classes_have_one_bit_of_mutual_information() -> None:
    draws = [[[1.0, 0.0]], [[0.0, 1.0]]]
    np.testing.assert_allclose(metrics.predictive_mean(draws), [[0.5, 0.5]])
    np.testing.assert_allclose(metrics.mutual_information(draws), [math.log(2)])


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.integers(0, 10_000))
def test_mutual_information_lies_between_zero_and_the_predictive_entropy(seed: int) -> None:
    draws = np.random.default_rng(seed).dirichlet(np.full(3, 0.3), size=(4, 6))
    information = metrics.mutual_information(draws)
    assert (information >= 0).all()
    assert (information <= metrics.predictive_entropy(draws) + 1e-12).all()


def test_the_referral_curve_matches_hand_computed_values() -> None:
    labels = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]
    scores = [0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.2, 0.75, 0.6, 0.4]
    uncertainty = [0, 1, 2, 3, 4, 5, 9, 8, 7, 6]
    # All: of 25 pairs, positives win 5 + 5 + 4 (0.7 loses to 0.75) + 1.5 (0.2 beats 0.1, ties 0.2) + 4 = 19.5.
    # Without the seventh (0.2): 5 + 5 + 4 + 4 = 18 of 20. Without the eighth (0.75) as well: all pairs are correct.
    np.testing.assert_allclose(metrics.referral_curve(labels, scores, uncertainty), [19.5 / 25, 18 / 20, 1.0, 1.0])


def test_three_tenths_of_ten_images_are_three() -> None:
    kept = metrics.referral_curve(
        np.zeros(10), np.zeros(10), np.arange(10), (0.3, 0.29), lambda labels, _: float(len(labels))
    )
    np.testing.assert_array_equal(kept, [7, 8])


def test_a_referred_fraction_of_one_is_rejected() -> None:
    with pytest.raises(ValueError, match="below 1, not 1"):
        metrics.referral_curve([0, 1], [0, 1], [0, 1], (1.0,))


def test_the_calibration_error_matches_a_hand_computed_value() -> None:
    # Ten bins: two predictions at 0.95, one correct; two at 0.65, both correct.
    probabilities = [[0.95, 0.05], [0.05, 0.95], [0.65, 0.35], [0.35, 0.65]]
    labels = [0, 0, 0, 1]
    curve = metrics.calibration_curve(labels, probabilities, bins=10)
    np.testing.assert_allclose(curve.confidence, [0.65, 0.95])
    np.testing.assert_allclose(curve.accuracy, [1.0, 0.5])
    np.testing.assert_array_equal(curve.size, [2, 2])
    assert metrics.expected_calibration_error(labels, probabilities, bins=10) == pytest.approx((0.35 + 0.45) / 2)


def test_the_bootstrap_error_of_a_mean_agrees_with_its_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=400)
    error = metrics.bootstrap_standard_error(lambda v: float(v.mean()), [values], resamples=2000)
    assert error == pytest.approx(values.std() / 20, rel=0.06)


def test_patients_with_identical_images_count_once() -> None:
    patients = np.repeat(np.arange(100), 4)
    values = np.random.default_rng(1).normal(size=100)[patients]
    error = metrics.bootstrap_standard_error(lambda v: float(v.mean()), [values], 2000, groups=patients)
    assert error == pytest.approx(values.std() / 10, rel=0.06)


def test_the_bootstrap_resamples_all_arrays_together_and_is_reproducible() -> None:
    rng = np.random.default_rng(2)
    labels = rng.integers(2, size=60)
    scores = labels + rng.normal(size=60)
    first, again = (
        metrics.bootstrap_standard_error(metrics.auc, [labels, scores], generator=np.random.default_rng(3))
        for _ in range(2)
    )
    assert first == again
    assert 0.02 < first < 0.1


def test_the_error_of_an_undefined_statistic_is_nan() -> None:
    assert math.isnan(metrics.bootstrap_standard_error(metrics.auc, [[1, 1], [0.1, 0.2]]))
    assert math.isnan(metrics.bootstrap_standard_error(metrics.auc, [[], []]))


@pytest.mark.parametrize("metric", metrics.METRICS.values(), ids=lambda metric: metric.name)
def test_a_registered_metric_is_within_its_range_and_at_chance_for_random_guesses(metric: metrics.Metric) -> None:
    rng = np.random.default_rng(4)
    labels = rng.integers(2, size=4000)
    guesses = rng.dirichlet((1.0, 1.0), size=4000)
    perfect = np.eye(2)[labels]
    assert metric.function is not None
    assert metric.range is not None
    best, worst = metric.range if metric.goal == "minimize" else metric.range[::-1]
    assert metric.function(labels, perfect) == best
    # The NLL has no upper end.
    assert metric.function(labels, 1 - perfect) == (worst if math.isfinite(worst) else pytest.approx(87.3, abs=0.1))
    assert metrics.find_metric(metric.name) is metric
    if metric.chance is not None:
        assert metric.function(labels, guesses) == pytest.approx(metric.chance, abs=0.03)


def test_the_useful_range_of_a_metric_starts_at_chance_where_that_is_known() -> None:
    assert metrics.find_metric("validation_auc").useful_range == (0.5, 1.0)
    assert metrics.find_metric("validation_accuracy").useful_range == (0.0, 1.0)
    assert metrics.find_metric("reward").useful_range is None
    assert metrics.find_metric("validation_nll").useful_range is None
    assert metrics.find_metric("validation_calibration_error").useful_range == (0.0, 1.0)
    assert metrics.Metric("error", "error", None, (0.0, 1.0), 0.5, "minimize").useful_range == (0.0, 0.5)


def test_a_search_optimises_validation_metrics_by_unique_names() -> None:
    objectives = [metric.objective for metric in metrics.METRICS.values() if metric.objective is not None]
    assert sorted(objectives) == ["accuracy", "auc", "calibration_error", "nll"]
    assert all(m.name == f"validation_{m.objective}" for m in metrics.METRICS.values() if m.objective is not None)


@pytest.mark.parametrize(("name", "label"), [("mean_reward", "mean reward"), ("test_auc", "test AUC")])
def test_nothing_is_assumed_about_a_users_own_metric(name: str, label: str) -> None:
    assert metrics.find_metric(name) == metrics.Metric(name, label)
    assert metrics.find_metric(name).range is None
    assert metrics.find_metric(name).chance is None


def test_labels_of_registered_metrics_follow_the_rule_for_unregistered_ones() -> None:
    for name, metric in metrics.METRICS.items():
        assert metric.label == metrics.find_metric(f"{name}_").label.rstrip()
