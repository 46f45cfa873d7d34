from __future__ import annotations

import itertools

import numpy as np
import pytest

from report.statistics.thresholds import permuted_best, upper_point
from robustness.metrics import auc


@pytest.mark.parametrize("count", [1, 3, 99, 100, 101, 200, 257])
def test_at_most_one_per_cent_exceed_the_99_per_cent_point(count: int) -> None:
    values = np.random.default_rng(count).normal(0.56, 0.02, count)
    brute = min(value for value in values if np.mean(values > value) <= 0.01)
    assert upper_point(values.tolist(), 0.01) == brute


def test_one_permuted_scoring_has_the_distribution_over_every_order_of_patients() -> None:
    labels, patients = [1, 1, 0, 0, 1, 0, 0], [7, 7, 7, 2, 3, 3, 9]
    which = np.unique(patients, return_inverse=True)[1]
    every = [auc(labels, np.array(order)[which]) for order in itertools.permutations(range(4))]
    drawn = permuted_best(labels, patients, evaluations=1, draws=4000)
    assert drawn.mean() == pytest.approx(np.mean(every), abs=0.01)
    for value in np.unique(every):
        assert np.mean(np.isclose(drawn, value)) == pytest.approx(np.mean(np.isclose(every, value)), abs=0.03)


def test_the_best_of_several_scorings_is_the_maximum_of_as_many() -> None:
    labels, patients = [1, 1, 0, 0, 1, 0, 0], [7, 7, 7, 2, 3, 3, 9]
    which = np.unique(patients, return_inverse=True)[1]
    every = [auc(labels, np.array(order)[which]) for order in itertools.permutations(range(4))]
    best_of_two = np.mean([max(pair) for pair in itertools.product(every, repeat=2)])
    assert permuted_best(labels, patients, evaluations=2, draws=4000).mean() == pytest.approx(best_of_two, abs=0.01)


def test_pictures_of_one_patient_make_chance_reach_further() -> None:
    labels = np.repeat(np.arange(50) % 2, 8)
    alone = permuted_best(labels, np.arange(400), evaluations=10, draws=200)
    together = permuted_best(labels, np.repeat(np.arange(50), 8), evaluations=10, draws=200)
    assert upper_point(together.tolist(), 0.01) > upper_point(alone.tolist(), 0.01) + 0.05
