"""Ranks of arms over tasks: against scipy and Demsar's table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from robustness.statistics.ranks import cliques, critical_difference, friedman


def test_the_test_is_friedmans_with_and_without_ties() -> None:
    rng = np.random.default_rng(0)
    for scores in (rng.random((7, 4)), rng.integers(0, 3, (9, 3)).astype(float)):
        found = friedman(scores)
        expected = stats.friedmanchisquare(*scores.T)
        assert found is not None
        assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
        np.testing.assert_allclose(found.means, stats.rankdata(-scores, axis=1).mean(axis=0))


@pytest.mark.parametrize(("arms", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_demsars_constants(arms: int, q: float) -> None:
    expected = q * np.sqrt(arms * (arms + 1) / (6 * 14))
    assert critical_difference(arms, 14) == pytest.approx(expected, abs=1e-3)


def test_the_best_arm_has_rank_one() -> None:
    found = friedman([[0.9, 0.5], [0.8, 0.4], [0.7, 0.9]])
    assert found is not None
    assert found.means.tolist() == pytest.approx([4 / 3, 5 / 3])
    assert friedman([[0.9, 0.5]]) is None
    assert friedman([[0.9], [0.5]]) is None


def test_arms_that_never_differ_are_not_told_apart() -> None:
    found = friedman(np.ones((5, 3)))
    assert found is not None
    assert (found.statistic, found.p_value) == (0.0, 1.0)


def test_groups_are_as_large_as_the_critical_difference_allows() -> None:
    assert cliques([1.0, 3.0, 1.5, 2.2], 1.0) == [[0, 2], [2, 3], [3, 1]]
    assert cliques([1.0, 1.1, 1.2], 1.0) == [[0, 1, 2]]
    assert cliques([1.0, 3.0], 1.0) == []
