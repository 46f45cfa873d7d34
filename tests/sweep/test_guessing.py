"""What guessing scores, against every permutation, closed forms and the metrics themselves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from robustness.metrics import MetricFunction, accuracy, multiclass_auc
from robustness.sweep import guessing
from robustness.sweep.chance import upper_quantile
from robustness.sweep.guessing import Guesses, draws_for, guess, upper_point

LABELS = np.array([1, 1, 0, 0, 1, 0, 0, 1])
PATIENTS = np.array([7, 7, 7, 2, 3, 3, 9, 9])


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


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guessing, "LEAST_DRAWS", 20_000)
    monkeypatch.setattr(guessing, "MOST_DRAWS", 20_000)


@pytest.mark.usefixtures("few_draws")
def test_guesses_are_distributed_as_every_permutation_by_patient() -> None:
    every = np.array(every_permutation())
    drawn = guess(LABELS, PATIENTS, multiclass_auc, 0.01, np.random.default_rng(0)).values
    for value in np.unique(every):
        assert np.mean(drawn <= value + 1e-9) == pytest.approx(np.mean(every <= value + 1e-9), abs=0.015)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("evaluations", [1, 2, 3])
def test_the_point_of_the_best_of_many_is_that_of_every_choice_of_permutations(evaluations: int) -> None:
    best = [max(chosen) for chosen in itertools.product(every_permutation(), repeat=evaluations)]
    guesses = guess(LABELS, PATIENTS, multiclass_auc, 0.01, np.random.default_rng(1))
    # 0.31 is not a probability at which the enumerated distribution has a step.
    assert guesses.point(0.31, evaluations).value == pytest.approx(upper_quantile(best, 0.31))


@pytest.mark.usefixtures("few_draws")
def test_the_luck_of_patients_has_the_variance_of_the_rank_sum() -> None:
    labels = np.repeat([0, 1], 100)
    for images in (1, 4):
        # The AUC of a random scoring of n against n has the variance (2n + 1) / 12 n^2; four at a time quarter n.
        n = 100 // images
        sd = math.sqrt((2 * n + 1) / (12 * n**2))
        guesses = guess(labels, np.arange(200) // images, multiclass_auc, 0.01, np.random.default_rng(2))
        assert guesses.values.std() == pytest.approx(sd, rel=0.02)
        assert guesses.point(0.01, 1).value == pytest.approx(0.5 + sd * norm.ppf(0.99), abs=0.1 * sd)
        assert guesses.point(0.01, 8).value == pytest.approx(0.5 + sd * norm.ppf(0.99 ** (1 / 8)), abs=0.2 * sd)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("metric", [multiclass_auc, accuracy])
@pytest.mark.parametrize("classes", [2, 3])
def test_many_guesses_at_once_are_those_of_the_metric_itself(
    metric: MetricFunction, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(3)
    labels, patients = generator.integers(0, classes, 60), generator.integers(0, 25, 60)
    monkeypatch.setattr(guessing, "SLOW_DRAWS", 4000)
    fast = guess(labels, patients, metric, 0.01, generator)
    slow = guess(labels, patients, lambda *of: metric(*of), 0.01, generator)
    assert (len(fast.values), len(slow.values)) == (20_000, 4000)
    assert fast.constant == slow.constant
    for share in (0.05, 0.5, 0.95):
        apart = np.quantile(fast.values, share) - np.quantile(slow.values, share)
        assert abs(apart) < 0.15 * fast.values.std()


def test_always_naming_the_commonest_class_is_a_guess() -> None:
    labels = np.array([0] * 90 + [1] * 10)
    assert guess(labels, np.arange(100), accuracy, 0.01, np.random.default_rng(4)).point(0.01, 1).value == 0.9
    assert Guesses(np.array([0.4, 0.5]), 0.5).constant == 0.5


def test_another_seed_stays_within_the_stated_error() -> None:
    generator = np.random.default_rng(5)
    inside = []
    for _ in range(300):
        here, there = (upper_point(np.sort(generator.standard_normal(20_000)), 0.01) for _ in range(2))
        inside.append(here.low <= there.value <= here.high)
        assert here.low < here.value < here.high
    assert np.mean(inside) >= 0.99
    # The true quantile is within it, and the range is no wider than 99.9 % of another seed's points require.
    assert here.low < norm.ppf(0.99) < here.high
    spread = math.sqrt(2 * 0.01 * 0.99 / 20_000) / norm.pdf(norm.ppf(0.99))
    assert here.high - here.low == pytest.approx(2 * 3.29 * spread, rel=0.35)


def test_a_rare_quantile_gets_more_draws_and_an_unresolved_one_an_open_end() -> None:
    assert draws_for(100, 0.01) == 1_000_000
    assert draws_for(100_000, 0.01) == 100_000
    assert draws_for(100, 1e-5) == 10_000_000
    assert draws_for(100, 1e-9) == 10_000_000
    assert upper_point(np.linspace(0.4, 0.6, 1000), 0.001).high == 1.0


@pytest.mark.parametrize("count", [1, 3, 99, 100, 101, 200, 257])
def test_at_most_one_per_cent_exceed_the_99_per_cent_point(count: int) -> None:
    values = np.random.default_rng(count).normal(0.56, 0.02, count)
    brute = min(value for value in values if np.mean(values > value) <= 0.01)
    assert upper_quantile(values.tolist(), 0.01) == brute
    assert upper_point(np.sort(values), 0.01).value == brute
