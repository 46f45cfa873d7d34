"""Sample sizes, checked by enumerating all 2 x 2 tables."""

from __future__ import annotations

import itertools
import math

import pytest
from scipy import stats

from robustness.sweep.power import mcnemar_power, pairs_needed, sample_size_line, smallest_difference


def power_by_enumeration(pairs: int, difference: float, discordance: float) -> float:
    """Sum the probabilities of all (only first, only second, rest) whose exact binomial test rejects."""
    first, second = (discordance + difference) / 2, (discordance - difference) / 2
    total = 0.0
    for b, c in itertools.product(range(pairs + 1), repeat=2):
        if 0 < b + c <= pairs and stats.binomtest(b, b + c).pvalue <= 0.05:
            rest = pairs - b - c
            ways = math.factorial(pairs) // (math.factorial(b) * math.factorial(c) * math.factorial(rest))
            total += ways * first**b * second**c * (1 - discordance) ** rest
    return total


@pytest.mark.parametrize(
    ("pairs", "difference", "discordance"),
    [(1, 1.0, 1.0), (5, 0.5, 0.5), (6, 1.0, 1.0), (12, 0.3, 0.5), (20, 0.5, 0.6), (30, 0.0, 0.4), (36, 0.2, 0.9)],
)
def test_power_equals_the_sum_over_all_tables(pairs: int, difference: float, discordance: float) -> None:
    expected = power_by_enumeration(pairs, difference, discordance)
    assert mcnemar_power(pairs, difference, discordance) == pytest.approx(expected, abs=1e-9)


def test_the_test_keeps_its_level() -> None:
    assert all(mcnemar_power(pairs, 0.0, 0.5) <= 0.05 for pairs in range(1, 120))


def test_the_smallest_difference_agrees_with_enumeration() -> None:
    smallest = smallest_difference(30, 0.5)
    assert smallest is not None
    assert power_by_enumeration(30, smallest, 0.5) >= 0.8
    assert power_by_enumeration(30, smallest - 0.002, 0.5) < 0.8


def test_a_difference_beyond_the_discordance_raises_the_discordance() -> None:
    smallest = smallest_difference(12, 0.5)
    assert smallest is not None
    assert smallest > 0.5
    assert power_by_enumeration(12, smallest, smallest) >= 0.8


def test_fewer_than_six_pairs_cannot_detect_any_difference() -> None:
    assert smallest_difference(5) is None
    assert smallest_difference(6) is not None


@pytest.mark.parametrize(("difference", "discordance"), [(0.43, 0.61), (0.4, 0.5), (0.6, 0.5)])
def test_the_pairs_needed_are_just_enough(difference: float, discordance: float) -> None:
    needed = pairs_needed(difference, discordance)
    assert needed is not None
    assert power_by_enumeration(needed, difference, max(difference, discordance)) >= 0.8
    assert power_by_enumeration(needed - 1, difference, max(difference, discordance)) < 0.8


def test_a_difference_too_small_for_any_study_has_no_sample_size() -> None:
    assert pairs_needed(0.0001) is None


def test_the_line_states_its_numbers_and_its_assumption() -> None:
    line = sample_size_line(86, "learned_nothing", 0.2)
    assert line.startswith("86 pairs detect a difference of 0.22 or more with 80 % power")
    assert "a difference of 0.20 needs 103 pairs" in line
    assert "McNemar" in line
    assert "50 % of the pairs" in line
