from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests

from robustness.statistics.paired import (
    Table,
    holm,
    mcnemar,
    paired_test,
    sign_flip,
    wilcoxon,
    worst_mcnemar,
)
from robustness.statistics.score_test import score_interval, score_p

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


def test_with_one_pair_for_each_configuration_the_comparison_is_tangos_with_mcnemars_exact_p() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(30) < 0.6, rng.random(30) < 0.3
    tested = paired_test(first, second, np.arange(30))
    table = Table.of(first, second)
    assert tested.effective == 30
    assert tested.interval == score_interval(table.only_first, table.only_second, 30)
    assert tested.p_value == pytest.approx(score_p(table.only_first, table.only_second, 30))
    assert tested.p_exact == pytest.approx(mcnemar(table.only_first, table.only_second))
    assert tested.difference == pytest.approx((table.only_first - table.only_second) / 30)


def test_replicates_that_always_agree_are_worth_one_pair_each() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random(12) < 0.6, rng.random(12) < 0.3
    once = paired_test(first, second, np.arange(12))
    thrice = paired_test(np.repeat(first, 3), np.repeat(second, 3), np.repeat(np.arange(12), 3))
    assert thrice.effective == pytest.approx(12)
    assert (thrice.interval.low, thrice.interval.high) == pytest.approx((once.interval.low, once.interval.high))
    assert thrice.p_value == pytest.approx(once.p_value)
    assert thrice.p_exact == pytest.approx(once.p_exact)


@pytest.mark.parametrize("same", [(0, 0), (1, 1), (1, 0), (0, 1)])
def test_replicates_without_any_variation_count_as_single_configurations(same: tuple[int, int]) -> None:
    tested = paired_test([same[0]] * 32, [same[1]] * 32, np.repeat(np.arange(8), 4))
    single = paired_test([same[0]] * 8, [same[1]] * 8, np.arange(8))
    assert tested.effective == 8
    assert (tested.interval, tested.p_value) == (single.interval, single.p_value)


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
