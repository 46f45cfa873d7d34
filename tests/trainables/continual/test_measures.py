"""Accuracy, forgetting and averages from the accuracies after each task."""

from __future__ import annotations

import pytest

from robustness.trainables.continual.measures import accuracy_measures


def test_forgetting_is_the_drop_from_the_best_earlier_accuracy() -> None:
    first = accuracy_measures([0.8], [0.9], [])
    second = accuracy_measures([0.7, 0.6], [0.95, 0.8], [first])
    third = accuracy_measures([0.6, 0.6, 0.9], [0.5, 0.85, 1.0], [first, second])
    assert "forgetting" not in first
    assert second["forgetting"] == pytest.approx(0.9 - 0.95)
    assert third["forgetting"] == pytest.approx(((0.95 - 0.5) + (0.8 - 0.85)) / 2)


def test_averages_are_over_the_tasks_so_far() -> None:
    first = accuracy_measures([0.8], [0.9], [])
    second = accuracy_measures([0.7, 0.5], [0.4, 0.8], [first])
    assert second["validation_accuracy"] == pytest.approx(0.6)
    assert second["test_accuracy"] == pytest.approx(0.6)
    assert second["test_accuracy_when_learned"] == pytest.approx((0.9 + 0.8) / 2)
    assert (second["test_accuracy_task_1"], second["validation_accuracy_task_2"]) == (0.4, 0.5)
