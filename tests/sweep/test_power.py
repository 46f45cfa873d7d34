"""Sample sizes, checked by enumerating all 2 x 2 tables."""

from __future__ import annotations

import itertools
import math

import pytest
from scipy import stats

from robustness.statistics.score_test import score_p
from robustness.sweep.power import pairs_needed, sample_size_line, score_test_power, smallest_difference


def power_by_enumeration(pairs: int, difference: float, discordance: float, level: float = 0.05) -> float:
    """Sum the probabilities of all (only first, only second, rest) whose chi-squared statistic of McNemar rejects."""
    first, second = (discordance + difference) / 2, (discordance - difference) / 2
    total = 0.0
    for b, c in itertools.product(range(pairs + 1), repeat=2):
        if 0 < b + c <= pairs and stats.chi2.sf((b - c) ** 2 / (b + c), 1) <= level:
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
    assert score_test_power(pairs, difference, discordance) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("comparisons", [3, 4, 10])
def test_power_at_a_corrected_level_equals_the_sum_over_all_tables(comparisons: int) -> None:
    expected = power_by_enumeration(30, 0.4, 0.5, 0.05 / comparisons)
    assert score_test_power(30, 0.4, 0.5, 0.05 / comparisons) == pytest.approx(expected, abs=1e-9)


def test_the_test_keeps_its_level() -> None:
    assert all(score_test_power(pairs, 0.0, 0.5) <= 0.055 for pairs in range(1, 120))


def test_the_smallest_difference_agrees_with_enumeration() -> None:
    smallest = smallest_difference(30, 0.5)
    assert smallest is not None
    assert power_by_enumeration(30, smallest, 0.5) >= 0.8
    assert power_by_enumeration(30, smallest - 0.002, 0.5) < 0.8


def test_a_difference_beyond_the_discordance_raises_the_discordance() -> None:
    smallest = smallest_difference(8, 0.5)
    assert smallest is not None
    assert smallest > 0.5
    assert power_by_enumeration(8, smallest, smallest) >= 0.8


def test_fewer_than_four_pairs_cannot_detect_any_difference() -> None:
    # All of m pairs on one side have a score of sqrt(m), which exceeds 1.96 from four pairs on.
    assert smallest_difference(3) is None
    assert smallest_difference(4) is not None
    assert smallest_difference(7, level=0.005) is None, "the score of 2.81 at a tenth of the level needs eight"
    assert smallest_difference(8, level=0.005) is not None


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
    assert line.startswith("86 pairs detect a difference of 0.21 or more with 80 % power")
    assert "a difference of 0.20 needs 95 pairs" in line
    assert "score test at 5 %;" in line
    assert "Holm" not in line
    assert "50 % of the pairs" in line


def test_the_line_takes_holms_correction_into_account() -> None:
    line = sample_size_line(86, "learned_nothing", 0.2, comparisons=10)
    assert line.startswith("86 pairs detect a difference of 0.27 or more with 80 % power")
    assert "a difference of 0.20 needs 161 pairs" in line
    assert "score test at 5 % / 10 = 0.5 %, the first step of Holm's correction over 10 comparisons" in line
    assert power_by_enumeration(86, 0.2, 0.5) > 0.75
    assert power_by_enumeration(86, 0.2, 0.5, 0.005) < 0.45


@pytest.mark.parametrize("level", [0.05, 0.05 / 4, 0.05 / 10])
def test_the_power_is_that_of_the_test_in_the_report(level: float) -> None:
    # With q = 1 the only discordant pairs are the first arm's, so power is the probability of enough of them.
    for pairs in (6, 12, 25):
        enough = [b for b in range(1, pairs + 1) if score_p(b, 0, pairs) < level]
        expected = sum(stats.binom.pmf(b, pairs, 0.4) for b in enough)
        assert score_test_power(pairs, 0.4, 0.4, level) == pytest.approx(expected, abs=1e-9)
