"""The short form of `benchmarks/evidence.py`: the targets that it measures, with fewer samples."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import evidence


@pytest.mark.parametrize("n", [30, 86])
def test_arms_at_the_edge_of_the_margin_are_rarely_called_equivalent(n: int) -> None:
    assert evidence.equivalence_size(n, 0.1, 0.2) <= 0.05
    assert evidence.mean_equivalence_size(n, "normal", 600, np.random.default_rng(n)) <= 0.07
    assert evidence.sequential_size(0.05, 0.1, 500, np.random.default_rng(n)) <= 0.05


def test_differences_of_spread_are_covered() -> None:
    coverage = evidence.spread_coverage(30, evidence.normal, 150, np.random.default_rng(0))
    assert min(covered for covered, _ in coverage.values()) >= 0.89
    assert evidence.spread_coverage(30, evidence.heavy, 100, np.random.default_rng(1))["sd"][0] >= 0.88


def test_contrasts_and_budgets_are_covered() -> None:
    rng = np.random.default_rng(1)
    assert evidence.contrast_rates(30, (0.5, 0.45, 0.05, 0.05), 200, rng) >= 0.90
    assert min(evidence.win_coverage(30, evidence.normal, 100, rng).values()) >= 0.88
    assert min(evidence.win_coverage(30, evidence.apart, 100, rng).values()) >= 0.88


def test_the_interaction_of_the_real_study_is_found_and_none_is_invented() -> None:
    rng = np.random.default_rng(2)
    average = float(np.dot(evidence.RHO_SHARES, evidence.RHO_FAILS))
    assert evidence.interaction_rate(86, (average,) * 4, 100, rng) <= 0.10
    assert evidence.interaction_rate(30, evidence.RHO_FAILS, 40, rng) >= 0.8
    assert evidence.stopped_interaction_size(40, rng)[0] <= 0.15
