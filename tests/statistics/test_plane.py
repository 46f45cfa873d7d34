from __future__ import annotations

import numpy as np
import pytest

from robustness.statistics.plane import interval_of, normalised, place_of, places_drawn

SCORES = np.array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.65], [np.nan, 2.0]])


def test_tuned_common_and_sensitivity_follow_from_their_definitions() -> None:
    place = place_of(SCORES)
    # The best of each task are 1 and 2; the last configuration failed on a task, so the third is the best common one.
    assert place.tuned == 1.5
    assert place.common == pytest.approx(0.7)
    assert place.sensitivity == pytest.approx(0.8)
    assert place.common_configuration == 2


def test_one_configuration_is_not_sensitive_and_has_no_interval() -> None:
    place = place_of(np.array([[0.25, 0.5, 0.75]]))
    assert (place.tuned, place.sensitivity, place.sensitivity_interval) == (0.5, 0.0, None)


def test_without_a_common_configuration_there_is_no_sensitivity() -> None:
    place = place_of(np.array([[1.0, np.nan], [np.nan, 1.0]]))
    assert (place.tuned, place.common, place.sensitivity) == (1.0, None, None)
    assert place_of(np.array([[1.0, np.nan]])).tuned is None


def test_the_bootstrap_is_the_same_each_time_and_contains_the_estimate_of_a_smooth_case() -> None:
    scores = np.random.default_rng(0).normal(size=(200, 6))
    first, second = place_of(scores), place_of(scores)
    assert first == second
    assert first.tuned is not None
    assert first.tuned_interval is not None
    assert first.tuned_interval[0] < first.tuned <= first.tuned_interval[1] + 0.5


def test_normalising_undoes_shifts_and_scales_of_a_task() -> None:
    generator = np.random.default_rng(1)
    scores = {"a": generator.normal(size=(50, 3)), "b": generator.normal(size=(40, 3))}
    moved = {arm: values * [2.0, 10.0, 0.1] + [5.0, -3.0, 100.0] for arm, values in scores.items()}
    for arm, values in normalised(scores).items():
        np.testing.assert_allclose(normalised(moved)[arm], values)
    together = np.concatenate(list(normalised(scores).values()))
    np.testing.assert_allclose(np.percentile(together, [5, 95], axis=0), [[0] * 3, [1] * 3], atol=1e-12)


def test_arms_of_the_same_shape_have_the_same_draws() -> None:
    scores = np.random.default_rng(3).normal(size=(30, 4))
    drawn, moved = places_drawn(scores, 50), places_drawn(scores + 1, 50)
    np.testing.assert_allclose(moved - drawn, np.tile([1.0, 0.0], (50, 1)), atol=1e-12)
    assert place_of(scores, 50).sensitivity_interval == interval_of(drawn[:, 1])
    assert interval_of(places_drawn(scores[:1], 50)[:, 0]) is None
