from __future__ import annotations

import itertools

import numpy as np
import pytest

from robustness.metrics import multiclass_auc
from robustness.sweep.chance import best_of_permuted, upper_point

LABELS = np.array([1, 1, 0, 0, 1, 0, 0, 1])
PATIENTS = np.array([7, 7, 7, 2, 3, 3, 9, 9])


@pytest.mark.parametrize("count", [1, 3, 99, 100, 101, 200, 257])
def test_at_most_one_per_cent_exceed_the_99_per_cent_point(count: int) -> None:
    values = np.random.default_rng(count).normal(0.56, 0.02, count)
    brute = min(value for value in values if np.mean(values > value) <= 0.01)
    assert upper_point(values.tolist(), 0.01) == brute


def every_permutation() -> list[float]:
    """The AUC of every order of patients, the labels of patients of as many pictures exchanged in every way."""
    which = np.unique(PATIENTS, return_inverse=True)[1]
    found = []
    for exchanged in (False, True):
        labels = LABELS.copy()
        if exchanged:
            # Of four patients with 1, 2, 3 and 2 pictures only those with two can change places.
            labels[PATIENTS == 3], labels[PATIENTS == 9] = LABELS[PATIENTS == 9], LABELS[PATIENTS == 3]
        for order in itertools.permutations([0.1, 0.3, 0.5, 0.7]):
            scores = np.array(order)[which]
            found.append(multiclass_auc(labels, np.stack([1 - scores, scores], axis=1)))
    return found


@pytest.mark.parametrize("evaluations", [1, 2, 3])
def test_the_permutation_threshold_is_that_of_every_permutation_by_patient(evaluations: int) -> None:
    every = every_permutation()
    best = [max(chosen) for chosen in itertools.product(every, repeat=evaluations)]
    drawn = best_of_permuted(LABELS, PATIENTS, evaluations, 3000, multiclass_auc, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(np.mean(best), abs=0.01)
    for value in np.unique(best):
        assert np.mean(drawn <= value + 1e-9) == pytest.approx(np.mean(np.array(best) <= value + 1e-9), abs=0.03)
