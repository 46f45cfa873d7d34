"""The short form of `benchmarks/intervals.py`: the targets that it measures, with fewer samples."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import intervals


@pytest.mark.parametrize("n", [12, 30])
@pytest.mark.parametrize("only", intervals.ONLY)
def test_paired_fractions_are_covered_by_enumeration(n: int, only: tuple[float, float]) -> None:
    coverage, _, width = intervals.enumerated(n, only)
    assert coverage >= 0.94
    assert width <= 1.05 * intervals.tango_width(n, only)
    assert intervals.contradictions(n, only, 2000, np.random.default_rng(0)) == 0


@pytest.mark.parametrize("n", [12, 30])
@pytest.mark.parametrize("only", intervals.NULLS)
def test_the_test_keeps_its_size_by_enumeration(n: int, only: tuple[float, float]) -> None:
    assert intervals.enumerated(n, only)[1] <= 0.055


@pytest.mark.parametrize("rho", intervals.CORRELATIONS)
@pytest.mark.parametrize("only", [(0.465, 0.0), (0.2, 0.2)])
def test_replicates_are_covered_whatever_their_correlation(rho: float, only: tuple[float, float]) -> None:
    rng = np.random.default_rng(7)
    coverage, _, contradicted = intervals.replicated_rates(10, 3, only, rho, "own rates", 600, rng)
    assert coverage >= 0.93
    assert contradicted == 0


@pytest.mark.parametrize("n", [6, 12, 30])
@pytest.mark.parametrize("kind", intervals.SYMMETRIC)
def test_means_of_symmetric_differences_are_covered(kind: str, n: int) -> None:
    coverage, none, contradicted = intervals.mean_rates(intervals.symmetric(kind), n, 1500, np.random.default_rng(n))
    assert coverage >= 0.93
    assert none < 0.15
    assert contradicted == 0


@pytest.mark.parametrize("n", [12, 16, 17, 25, 33])
def test_means_are_covered_where_a_fifth_of_the_pairs_fail(n: int) -> None:
    coverage, _, contradicted = intervals.mean_rates(intervals.failing(0.05), n, 1500, np.random.default_rng(n))
    assert coverage >= 0.90
    assert contradicted == 0


@pytest.mark.parametrize("n", [6, 8, 11])
def test_fewer_than_twelve_pairs_with_a_failure_among_them_have_no_interval(n: int) -> None:
    _, none, _ = intervals.mean_rates(intervals.failing(0.05), n, 1000, np.random.default_rng(n))
    assert none == pytest.approx(1 - 0.8**n, abs=0.05)
