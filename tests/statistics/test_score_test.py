"""Tango's score test and interval, checked by numerical maximum likelihood, published figures and enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize_scalar
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from robustness.statistics.paired import Table
from robustness.statistics.proportions import Interval, agreeing
from robustness.statistics.score_test import score, score_interval, score_p

COUNTS = st.integers(0, 40)


def interval_of(table: Table) -> Interval:
    return score_interval(table.only_first, table.only_second, table.pairs)


def _score_by_search(table: Table, difference: float) -> float:
    """Tango's statistic with the maximum-likelihood discordance found numerically instead of in closed form."""
    n, b, c = table.pairs, table.only_first, table.only_second
    low, high = max(0.0, -difference), (1 - difference) / 2

    def negative_log_likelihood(second: float) -> float:
        return -(
            (b * np.log(second + difference) if b else 0)
            + (c * np.log(second) if c else 0)
            + ((n - b - c) * np.log(1 - 2 * second - difference) if n > b + c else 0)
        )

    second = minimize_scalar(negative_log_likelihood, bounds=(low + 1e-12, high - 1e-12), options={"xatol": 1e-12}).x
    return float((b - c - n * difference) / np.sqrt(n * (2 * second + difference * (1 - difference))))


@pytest.mark.parametrize(
    "table", [Table(1, 7, 1, 12), Table(19, 52, 15, 0), Table(30, 4, 9, 43), Table(0, 12, 3, 5), Table(5, 1, 20, 60)]
)
def test_the_bounds_of_the_paired_difference_score_exactly_at_the_normal_quantile(table: Table) -> None:
    interval = interval_of(table)
    z = stats.norm.ppf(0.975)
    assert _score_by_search(table, interval.low) == pytest.approx(z, abs=1e-4)
    assert _score_by_search(table, interval.high) == pytest.approx(-z, abs=1e-4)


def test_the_paired_difference_reproduces_a_published_interval() -> None:
    """The airway data of Bentur et al., for which Fagerland et al. 2014 report Tango's (-0.517, -0.026)."""
    interval = interval_of(Table(1, 1, 7, 12))
    assert (interval.low, interval.high) == pytest.approx((-0.517, -0.026), abs=0.001)


def test_the_paired_difference_has_nominal_coverage_at_the_papers_size() -> None:
    rng = np.random.default_rng(0)
    tables = rng.multinomial(86, [0.22, 0.6, 0.17, 0.01], size=1500)
    intervals = [interval_of(Table(*map(int, row))) for row in tables]
    assert 0.93 <= np.mean([interval.low <= 0.43 <= interval.high for interval in intervals]) <= 0.97


@settings(deadline=None, derandomize=True, max_examples=80)
@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_every_table_has_an_interval_around_its_difference(a: int, b: int, c: int, d: int) -> None:
    table = Table(a, b, c, d)
    interval = interval_of(table)
    if table.pairs:
        difference = (b - c) / table.pairs
        assert -1 <= interval.low <= difference + 1e-9
        assert difference - 1e-9 <= interval.high <= 1
        mirrored = interval_of(Table(a, c, b, d))
        assert (-mirrored.high, -mirrored.low) == pytest.approx((interval.low, interval.high), abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(COUNTS, COUNTS, st.integers(1, 60))
def test_at_no_difference_the_score_test_is_mcnemars_without_correction(b: int, c: int, same: int) -> None:
    expected = statsmodels_mcnemar([[same, b], [c, 0]], exact=False, correction=False).pvalue if b + c else 1.0
    assert score_p(b, c, b + c + same) == pytest.approx(expected, rel=1e-9)
    if b + c:
        assert score(b, c, b + c + same) == pytest.approx((b - c) / math.sqrt(b + c))


@pytest.mark.parametrize("pairs", [5, 12, 30, 61])
def test_the_interval_of_every_table_leaves_out_zero_exactly_when_p_is_below_005(pairs: int) -> None:
    for b in range(pairs + 1):
        for c in range(pairs + 1 - b):
            interval = score_interval(b, c, pairs)
            assert (interval.low > 0 or interval.high < 0) is (score_p(b, c, pairs) < 0.05), (b, c)
            assert interval.low < interval.high


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.floats(0, 1), st.floats(0, 1), st.floats(1, 300))
def test_so_does_that_of_any_scaled_counts(share: float, split: float, pairs: float) -> None:
    b, c = pairs * share * split, pairs * share * (1 - split)
    interval = score_interval(b, c, pairs)
    assert (interval.low > 0 or interval.high < 0) is (score_p(b, c, pairs) < 0.05)


def test_rounding_at_the_boundary_cannot_part_the_interval_from_its_p_value() -> None:
    """(b - c)^2 / (b + c) at the critical value itself, and one step of a floating-point number to either side."""
    critical = float(stats.norm.ppf(0.975)) ** 2
    for b in (critical, np.nextafter(critical, 0), np.nextafter(critical, 9)):
        interval = score_interval(float(b), 0.0, 50.0)
        assert (interval.low > 0) is (score_p(float(b), 0.0, 50.0) < 0.05)
    assert agreeing(Interval(1e-17, 0.3, ""), 0.1, 0.05).low == 0
    assert agreeing(Interval(-1e-17, 0.3, ""), 0.1, 0.0499999).low > 0
    assert agreeing(Interval(-0.3, 1e-17, ""), -0.1, 0.0499999).high < 0


@pytest.mark.parametrize(("b", "c", "n"), [(7, 1, 21), (0, 0, 12), (52, 15, 86), (0, 3, 20), (20, 0, 20)])
def test_the_ends_of_the_interval_are_the_nulls_with_a_p_value_of_005(b: int, c: int, n: int) -> None:
    interval = score_interval(b, c, n)
    if interval.low > -1:
        assert score_p(b, c, n, interval.low) == pytest.approx(0.05, abs=1e-6)
        assert score_p(b, c, n, interval.low, "greater") == pytest.approx(0.025, abs=1e-6)
    if interval.high < 1:
        assert score_p(b, c, n, interval.high) == pytest.approx(0.05, abs=1e-6)
        assert score_p(b, c, n, interval.high, "less") == pytest.approx(0.025, abs=1e-6)


@pytest.mark.parametrize(("table", "margin"), [((0, 0, 52), 0.05), ((1, 1, 69), 0.05), ((2, 1, 101), 0.05)])
def test_two_one_sided_tests_show_equivalence_from_the_known_numbers_of_pairs(
    table: tuple[int, int, int], margin: float
) -> None:
    """52 pairs without a discordant one are enough for 5 points, 69 with 1 and 1, 101 with 2 and 1; one less is not."""
    b, c, n = table

    def shown(pairs: int) -> bool:
        return max(score_p(b, c, pairs, -margin, "greater"), score_p(b, c, pairs, margin, "less")) < 0.05

    assert shown(n)
    assert not shown(n - 1)
