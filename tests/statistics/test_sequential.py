"""Anytime-valid evidence: fairness by enumeration, likelihood ratios, coverage, and agreement of p and interval."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustness.statistics.sequential import (
    SHARES,
    WEIGHTS,
    Bets,
    anytime_p,
    capital,
    chance_of_decision,
    closed,
    confidence_sequence,
)

LEVEL = 0.05
DIFFERENCES = st.lists(st.sampled_from([-1.0, -2 / 3, -0.5, 0.0, 0.25, 1 / 3, 1.0]), min_size=1, max_size=60)


def paths(law: dict[float, float], length: int) -> Iterator[tuple[float, list[float]]]:
    """Every sequence of the law's values with its probability."""
    for values in itertools.product(law, repeat=length):
        yield math.prod(law[value] for value in values), list(values)


@pytest.mark.parametrize(
    "law",
    [{1.0: 0.5, -1.0: 0.5}, {1.0: 0.2, 0.0: 0.6, -1.0: 0.2}, {1.0: 0.1, -1 / 9: 0.9}, {-1.0: 0.25, 1 / 3: 0.75}],
)
def test_the_capital_is_a_fair_bet_and_rarely_grows_large_on_every_tree(law: dict[float, float]) -> None:
    """Exact: the mean over all sequences is 1 after each step, and Ville's bound holds for the maximum."""
    length = 8 if len(law) == 3 else 12
    assert math.isclose(sum(value * weight for value, weight in law.items()), 0, abs_tol=1e-12)
    mean = np.zeros(length)
    ever = 0.0
    for probability, values in paths(law, length):
        path = capital(values)
        mean += probability * path
        ever += probability * (anytime_p(path) < LEVEL)
    np.testing.assert_allclose(mean, 1.0, rtol=1e-9)
    assert ever <= LEVEL


def test_a_hypothesis_other_than_zero_is_a_fair_bet_too() -> None:
    law = {1.0: 0.5, 0.0: 0.2, -1.0: 0.3}
    mean = sum(probability * capital(values, 0.2)[-1] for probability, values in paths(law, 6))
    assert mean == pytest.approx(1.0)


def test_on_signs_it_is_a_mixture_of_likelihood_ratios_of_discordant_pairs() -> None:
    values = [1, 0, 1, -1, 1, 1, 0, 0, 1, -1]
    b, c = 5, 2
    expected = 0.0
    for share, weight in zip(SHARES, WEIGHTS, strict=True):
        p = (1 + share) / 2
        for high in (p, 1 - p):
            expected += weight / 2 * high**b * (1 - high) ** c / 0.5 ** (b + c)
    assert capital(values)[-1] == pytest.approx(expected)
    assert WEIGHTS.sum() == pytest.approx(1)


def test_values_one_at_a_time_and_all_at_once_agree() -> None:
    values = np.random.default_rng(0).uniform(-1, 1, (3, 20))
    bets = Bets(3)
    np.testing.assert_allclose(np.stack([bets.add(column) for column in values.T], axis=1), capital(values))


@given(DIFFERENCES)
def test_the_interval_leaves_out_zero_exactly_when_p_is_below_the_level(values: list[float]) -> None:
    for level in (0.05, 0.2):
        interval = confidence_sequence(values, level=1 - level)
        assert (not interval.low <= 0 <= interval.high) == (anytime_p(capital(values)) < level)


@given(DIFFERENCES, st.data())
def test_they_agree_with_looks_after_some_values_only(values: list[float], data: st.DataObject) -> None:
    looks = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    interval = confidence_sequence(values, looks=looks, level=0.8)
    assert (not interval.low <= 0 <= interval.high) == (anytime_p(capital(values)[looks]) < 0.2)


@given(DIFFERENCES)
def test_the_interval_is_that_of_a_search_over_a_grid(values: list[float]) -> None:
    grid = np.linspace(-0.999, 0.999, 401)
    kept = grid[[anytime_p(capital(values, mean)) >= LEVEL for mean in grid]]
    interval = confidence_sequence(values)
    if len(kept):
        assert interval.low == pytest.approx(kept.min(), abs=0.006)
        assert interval.high == pytest.approx(kept.max(), abs=0.006)
    else:
        assert interval.high - interval.low < 0.006


@pytest.mark.parametrize(("only_first", "only_second"), [(0.3, 0.3), (0.45, 0.05), (0.05, 0.0), (0.875, 0.125)])
def test_it_covers_the_true_difference_after_every_pair_at_once(only_first: float, only_second: float) -> None:
    generator = np.random.default_rng(21)
    truth = only_first - only_second
    law = [only_first, only_second, 1 - only_first - only_second]
    missed = 0
    for values in generator.choice([1.0, -1.0, 0.0], size=(300, 60), p=law):
        interval = confidence_sequence(values)
        missed += not interval.low <= truth <= interval.high
    # 300 samples at exactly 5 % miss at most 23 times with a probability of 98 %.
    assert missed <= 23


def test_it_covers_the_mean_of_a_fraction_and_of_a_skewed_score() -> None:
    generator = np.random.default_rng(22)
    missed = [0, 0]
    for _ in range(300):
        shares = generator.random(60) < 0.1
        scores = 0.5 + generator.beta(0.3, 1.2, 60) / 2
        for place, (values, low, high, truth) in enumerate(((shares, 0, 1, 0.1), (scores, 0.5, 1, 0.6))):
            interval = confidence_sequence(values, low, high)
            assert low <= interval.low <= interval.high <= high
            missed[place] += not interval.low <= truth <= interval.high
    assert max(missed) <= 23


def test_a_small_difference_is_found_in_a_large_study() -> None:
    """60 % of the discordant pairs to one side: with the two largest stakes alone no number of pairs would do."""
    values = np.random.default_rng(23).choice([1.0, -1.0, 0.0], size=3000, p=[0.3, 0.2, 0.5])
    assert anytime_p(capital(values)) < 0.001
    interval = confidence_sequence(values)
    assert interval.high - interval.low < 0.15


def test_closed_testing_takes_the_least_mean_over_all_sets() -> None:
    e_values = np.random.default_rng(24).exponential(5, size=(5, 40)) ** 2
    corrected = closed(e_values)
    for place in range(5):
        others = [other for other in range(5) if other != place]
        sets = [[place, *chosen] for size in range(5) for chosen in itertools.combinations(others, size)]
        np.testing.assert_allclose(corrected[place], np.min([e_values[chosen].mean(axis=0) for chosen in sets], axis=0))
    np.testing.assert_allclose(closed(e_values[:1]), e_values[:1])


def test_capital_beyond_the_range_of_floats_stays_finite() -> None:
    path = capital(np.ones(5000))
    assert np.isfinite(closed(np.stack([path, path]))).all()
    assert 0 < anytime_p(path) < 1e-200
    assert confidence_sequence(np.ones(5000)).low > 0.9


def test_no_values_are_no_evidence() -> None:
    assert anytime_p([]) == 1
    assert math.isnan(confidence_sequence([]).low)
    assert confidence_sequence([0.0]).low == pytest.approx(-1, abs=0.2)


def test_the_chance_of_a_decision_is_zero_where_even_the_best_case_is_too_short() -> None:
    assert chance_of_decision([0.0] * 20, 6, LEVEL) == 0
    assert chance_of_decision([0.0] * 20, 0, LEVEL) == 0


def test_the_chance_of_a_decision_is_that_of_simulated_trinomials() -> None:
    """The posterior is drawn from its definition, and the evidence is recomputed from its counts."""
    observed = [1.0] * 9 + [-1.0] * 4 + [0.0] * 12
    generator = np.random.default_rng(25)
    reached = 0
    for _ in range(2000):
        law = generator.dirichlet([9.5, 4.5, 12.5])
        further = generator.choice([1.0, -1.0, 0.0], size=40, p=law)
        reached += capital([*observed, *further])[len(observed) :].max() > 1 / LEVEL
    assert chance_of_decision(observed, 40, LEVEL) == pytest.approx(reached / 2000, abs=0.05)
