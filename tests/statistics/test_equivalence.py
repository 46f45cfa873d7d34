from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from robustness.statistics.equivalence import (
    counts_equivalence,
    equivalence_capital,
    equivalence_power,
    fraction_equivalence,
    mean_equivalence,
    pairs_for_equivalence,
    pairs_needed_for_equivalence,
    verdict,
)


def tango_p(b: int, c: int, n: int, null: float, greater: bool) -> float:
    """Tango's one-sided p-value from the constrained maximum of the likelihood, found on a fine grid."""
    shares = np.linspace(max(0.0, -null), (1 - abs(null)) / 2 + max(0.0, -null), 400_001)[1:-1]
    first = shares + null
    inside = (first > 0) & (first + shares < 1)
    shares, first = shares[inside], first[inside]
    likelihood = (b * np.log(first) if b else 0.0) + (c * np.log(shares) if c else 0.0)
    likelihood = likelihood + (n - b - c) * np.log1p(-first - shares)
    share = float(shares[np.argmax(likelihood)])
    z = (b - c - n * null) / math.sqrt(n * (2 * share + null - null**2))
    return float(stats.norm.sf(z) if greater else stats.norm.cdf(z))


@pytest.mark.parametrize(("b", "c", "n"), [(1, 1, 69), (2, 1, 101), (5, 8, 86), (0, 3, 40)])
def test_both_tests_are_tangos_at_the_edges_of_the_margin_or_the_exact_ones(b: int, c: int, n: int) -> None:
    tested = counts_equivalence(b, c, n, 0.05)
    one_sided = stats.binom(n, 0.05)
    above = max(tango_p(b, c, n, -0.05, greater=True), one_sided.cdf(c - b))
    below = max(tango_p(b, c, n, 0.05, greater=False), one_sided.cdf(b - c))
    assert tested.p_above == pytest.approx(above, abs=1e-4)
    assert tested.p_below == pytest.approx(below, abs=1e-4)


@pytest.mark.parametrize("n", [30, 45, 60, 86])
@pytest.mark.parametrize("margin", [0.05, 0.1])
def test_arms_whose_discordant_pairs_are_all_to_one_side_are_called_equivalent_in_five_percent(
    n: int, margin: float
) -> None:
    shown = [(counts_equivalence(b, 0, n, margin).p_value or 0.0) < 0.05 for b in range(n + 1)]
    assert stats.binom(n, margin).pmf(np.arange(n + 1)) @ np.array(shown) <= 0.05


@pytest.mark.parametrize(("discordant", "pairs"), [((0, 0), 59), ((1, 1), 69), ((2, 1), 101)])
def test_the_pairs_that_equivalence_within_five_points_needs(discordant: tuple[int, int], pairs: int) -> None:
    # Without a discordant pair, 0.95^59 is the first power below 0.05.
    assert pairs_for_equivalence(*discordant, 0.05) == pairs


def test_the_interval_lies_within_the_margin_exactly_if_both_tests_reject() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(20, 120))
        b, c = (int(value) for value in rng.integers(0, 8, size=2))
        tested = counts_equivalence(b, c, n, 0.1)
        assert tested.p_value is not None
        assert (tested.interval.low > -0.1 and tested.interval.high < 0.1) == (tested.p_value < 0.05)
        sample = rng.normal(scale=0.3, size=n)
        means = mean_equivalence(sample, 0.1)
        assert means.p_value is not None
        assert (means.interval.low > -0.1 and means.interval.high < 0.1) == (means.p_value < 0.05)


def test_without_skewness_means_are_tested_by_two_t_tests() -> None:
    half = np.array([0.1, 0.5, 0.9, 1.3, 0.2, 0.7])
    sample = np.concatenate([half, -half]) + 0.05
    tested = mean_equivalence(sample, 0.5)
    assert tested.p_above == pytest.approx(stats.ttest_1samp(sample, -0.5, alternative="greater").pvalue, rel=1e-9)
    assert tested.p_below == pytest.approx(stats.ttest_1samp(sample, 0.5, alternative="less").pvalue, rel=1e-9)


def test_equal_differences_have_no_test() -> None:
    assert mean_equivalence(np.zeros(30), 0.1).p_value is None


def test_power_is_the_probability_of_tables_that_show_equivalence() -> None:
    rng = np.random.default_rng(3)
    tables = rng.multinomial(90, [0.02, 0.02, 0.96], size=4000)
    shown = [(counts_equivalence(b, c, 90, 0.05).p_value or 0.0) < 0.05 for b, c, _ in tables.tolist()]
    assert equivalence_power(90, 0.04, 0.05) == pytest.approx(np.mean(shown), abs=0.03)
    needed = pairs_needed_for_equivalence(0.04, 0.05)
    assert needed is not None
    assert equivalence_power(needed, 0.04, 0.05) >= 0.8 > equivalence_power(needed - 1, 0.04, 0.05)


def test_replicates_count_as_many_pairs_as_they_are_worth() -> None:
    outcomes = np.zeros(60)
    alone = fraction_equivalence(outcomes, outcomes, np.arange(60), 0.05)
    repeated = fraction_equivalence(np.repeat(outcomes, 3), np.repeat(outcomes, 3), np.repeat(np.arange(60), 3), 0.05)
    assert alone.p_value == repeated.p_value


def test_the_verdict_of_a_significant_difference_within_the_margin_is_equivalent() -> None:
    assert verdict(0.01, 0.2) == "different"
    assert verdict(0.2, 0.01) == "equivalent"
    assert verdict(0.01, 0.01) == "equivalent"
    assert verdict(0.2, 0.2) == verdict(None, None) == "undecided"


def test_bets_on_equivalence_are_fair_at_the_edge() -> None:
    # One step: the expected factor at the edge of the margin is at most 1, whatever the discordance.
    for share in (0.05, 0.2, 0.6):
        up, down = (share + 0.05) / 2, (share - 0.05) / 2
        chances = {1.0: up, -1.0: down, 0.0: 1 - share}
        assert sum(p * equivalence_capital([x], 0.05)[0] for x, p in chances.items()) <= 1 + 1e-12
    assert equivalence_capital(np.zeros(200), 0.05)[-1] > 20


def test_a_margin_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        counts_equivalence(0, 0, 10, 0.0)
