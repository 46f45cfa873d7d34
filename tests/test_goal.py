"""Which way is better."""

from __future__ import annotations

import numpy as np
import pytest

from robustness.goal import MAXIMIZE, MINIMIZE, find_goal, goal_in


def test_each_goal_is_the_mirror_of_the_other() -> None:
    values = [0.2, 0.7, 0.5]
    assert (MAXIMIZE.best(values), MAXIMIZE.worst(values)) == (0.7, 0.2)
    assert (MINIMIZE.best(values), MINIMIZE.worst(values)) == (0.2, 0.7)
    for a in values:
        for b in values:
            assert MINIMIZE.better(a, b) == MAXIMIZE.better(-a, -b)
            assert MINIMIZE.at_least_as_good(a, b) == MAXIMIZE.at_least_as_good(-a, -b)


def test_oriented_values_are_better_if_they_are_higher_and_turn_back() -> None:
    scores = np.array([3.0, 1.0, 2.0])
    assert MINIMIZE.oriented(scores).argmax() == 1
    assert MAXIMIZE.oriented(scores).argmax() == 0
    np.testing.assert_array_equal(MINIMIZE.oriented(MINIMIZE.oriented(scores)), scores)


def test_arrays_are_compared_element_by_element() -> None:
    np.testing.assert_array_equal(MINIMIZE.better(np.array([1.0, np.nan, 3.0]), 2.0), [True, False, False])


@pytest.mark.parametrize(("outcomes", "word"), [({}, "higher"), ({"goal": "minimize"}, "lower")])
def test_a_document_without_a_goal_is_maximised(outcomes: dict[str, str], word: str) -> None:
    assert goal_in({"outcomes": outcomes}).word == word
    assert find_goal(None) is MAXIMIZE


def test_nothing_is_best_among_no_values() -> None:
    assert MINIMIZE.best([]) is None
    assert MAXIMIZE.worst([], default=0.0) == 0.0
