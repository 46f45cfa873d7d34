from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize_scalar
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from robustness.statistics.paired import (
    Table,
    holm,
    mcnemar,
    paired_difference,
    replicated_difference,
    sign_flip,
    wilcoxon,
    worst_mcnemar,
)

COUNTS = st.integers(0, 40)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_exact_mcnemar_test_agrees_with_statsmodels_and_scipy(a: int, b: int, c: int, d: int) -> None:
    assert mcnemar(b, c) == pytest.approx(statsmodels_mcnemar([[a, b], [c, d]], exact=True).pvalue, rel=1e-9)
    if b + c:
        assert mcnemar(b, c) == pytest.approx(stats.binomtest(b, b + c).pvalue, rel=1e-9)


def test_the_worst_table_with_the_papers_margins_is_still_highly_significant() -> None:
    assert worst_mcnemar(71, 34, 86) == pytest.approx(6.5e-6, abs=0.05e-6)
    assert worst_mcnemar(71, 34, 86) == pytest.approx(stats.binomtest(15, 67).pvalue)
    every = [stats.binomtest(71 - both, 105 - 2 * both).pvalue for both in range(19, 35)]
    assert worst_mcnemar(71, 34, 86) == pytest.approx(max(every))


def test_a_table_counts_the_four_kinds_of_pairs() -> None:
    assert Table.of([1, 1, 0, 0, 1], [1, 0, 1, 0, 0]) == Table(both=1, only_first=2, only_second=1, neither=1)


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
    return (b - c - n * difference) / np.sqrt(n * (2 * second + difference * (1 - difference)))


@pytest.mark.parametrize(
    "table", [Table(1, 7, 1, 12), Table(19, 52, 15, 0), Table(30, 4, 9, 43), Table(0, 12, 3, 5), Table(5, 1, 20, 60)]
)
def test_the_bounds_of_the_paired_difference_score_exactly_at_the_normal_quantile(table: Table) -> None:
    interval = paired_difference(table)
    z = stats.norm.ppf(0.975)
    assert _score_by_search(table, interval.low) == pytest.approx(z, abs=1e-4)
    assert _score_by_search(table, interval.high) == pytest.approx(-z, abs=1e-4)


def test_the_paired_difference_reproduces_a_published_interval() -> None:
    """The airway data of Bentur et al., for which Fagerland et al. 2014 report Tango's (-0.517, -0.026)."""
    interval = paired_difference(Table(1, 1, 7, 12))
    assert (interval.low, interval.high) == pytest.approx((-0.517, -0.026), abs=0.001)


def test_the_paired_difference_has_nominal_coverage_at_the_papers_size() -> None:
    rng = np.random.default_rng(0)
    tables = rng.multinomial(86, [0.22, 0.6, 0.17, 0.01], size=1500)
    intervals = [paired_difference(Table(*map(int, row))) for row in tables]
    assert 0.93 <= np.mean([interval.low <= 0.43 <= interval.high for interval in intervals]) <= 0.97


@settings(deadline=None, derandomize=True, max_examples=80)
@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_every_table_has_an_interval_around_its_difference(a: int, b: int, c: int, d: int) -> None:
    table = Table(a, b, c, d)
    interval = paired_difference(table)
    if table.pairs:
        difference = (b - c) / table.pairs
        assert -1 <= interval.low <= difference + 1e-9
        assert difference - 1e-9 <= interval.high <= 1
        mirrored = paired_difference(Table(a, c, b, d))
        assert (-mirrored.high, -mirrored.low) == pytest.approx((interval.low, interval.high), abs=1e-9)


def _all_signs(differences: list[float]) -> float:
    observed = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    return float(np.mean([total >= observed - 1e-12 for total in sums]))


@pytest.mark.parametrize(
    "differences",
    [
        [1.0, 1.0, -1.0, 0.0, 1.0, 1.0],
        [1 / 3, 2 / 3, -1 / 3, 1.0, 0.0, 1 / 3, 1 / 3],
        [0.5, 1 / 3, 0.25, -1.0, 0.75, 0.5, 0.5, 2 / 3],
        [0.2, 0.4, 0.4, 0.6, -0.2, 0.2, 0.8, 1.0, 0.4],
    ],
)
def test_the_sign_flip_test_enumerates_all_sign_assignments(differences: list[float]) -> None:
    assert sign_flip(differences) == pytest.approx(_all_signs(differences), abs=1e-12)


def test_differences_without_a_common_denominator_are_flipped_at_random() -> None:
    differences = np.random.default_rng(4).normal(0.3, 1, 14).tolist()
    assert sign_flip(differences) == pytest.approx(_all_signs(differences), abs=0.01)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(COUNTS, COUNTS, COUNTS)
def test_with_one_replicate_the_sign_flip_test_is_mcnemars(b: int, c: int, same: int) -> None:
    assert sign_flip([1.0] * b + [-1.0] * c + [0.0] * same) == pytest.approx(mcnemar(b, c), rel=1e-9)


def test_replicates_are_resampled_by_configuration() -> None:
    rng = np.random.default_rng(0)
    differences = rng.integers(-3, 4, size=40) / 3
    interval = replicated_difference(differences)
    samples = [rng.choice(differences, 40).mean() for _ in range(4000)]
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(samples, [0.025, 0.975])), abs=0.03)


@pytest.mark.parametrize(
    ("same", "table"), [(0.0, Table(0, 0, 0, 6)), (1.0, Table(0, 6, 0, 0)), (-1.0, Table(0, 0, 6, 0))]
)
def test_replicates_that_all_agree_have_the_interval_of_as_many_pairs(same: float, table: Table) -> None:
    assert replicated_difference([same] * 6) == paired_difference(table)


def test_wilcoxons_test_enumerates_all_sign_assignments() -> None:
    differences = np.array([0.3, -0.1, 0.25, 0.4, 0.05, -0.02, 0.6, 0.0])
    ranks = stats.rankdata(np.abs(differences[differences != 0]))
    observed = ranks[differences[differences != 0] > 0].sum()
    middle = ranks.sum() / 2
    sums = [sum(r for r, s in zip(ranks, signs, strict=True) if s) for signs in itertools.product((0, 1), repeat=7)]
    brute = np.mean([abs(total - middle) >= abs(observed - middle) for total in sums])
    assert wilcoxon(differences) == pytest.approx(brute)
    assert wilcoxon([0.0, 0.0]) == 1.0


@pytest.mark.parametrize("count", range(1, 9))
def test_holms_correction_agrees_with_statsmodels(count: int) -> None:
    p_values = (np.random.default_rng(count).random(count) ** 3).tolist()
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())
