"""The judge: one rule, for a single trial and for arrays of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robustness.sweep.outcome_arrays import counts, outcomes_of
from robustness.sweep.outcomes import Judge
from robustness.trial import COUNTED, ENDED, PENDING

METRICS = (math.nan, 0.4, 0.5, 0.6, 0.8, 0.9)


@pytest.mark.parametrize(
    ("inclusive", "expected"),
    [
        (False, ["learned_nothing", "between", "between", "good", "good"]),
        (True, ["learned_nothing", "learned_nothing", "between", "good", "good"]),
    ],
)
def test_the_thresholds_themselves_are_good_and_learned_nothing_only_if_inclusive(
    inclusive: bool, expected: list[str]
) -> None:
    judge = Judge(0.5, 0.8, inclusive)
    assert outcomes_of(judge, ["finished"] * 5, METRICS[1:]).tolist() == expected
    assert [judge.outcome("finished", metric) for metric in METRICS[1:]] == expected


def test_learned_nothing_goes_before_good() -> None:
    assert outcomes_of(Judge(0.9, 0.8), ["finished"] * 2, [0.85, 0.95]).tolist() == ["learned_nothing", "good"]


def test_the_scalar_and_the_array_form_agree_for_every_status() -> None:
    judge = Judge(0.5, 0.8)
    trials = [(status, metric) for status in (*PENDING, *ENDED) for metric in METRICS]
    together = outcomes_of(judge, *(list(column) for column in zip(*trials, strict=True)))
    assert together.tolist() == [judge.outcome(status, metric) for status, metric in trials]
    assert {status for (status, _), outcome in zip(trials, together, strict=True) if outcome} == set(COUNTED)


def test_a_trial_without_a_metric_learned_nothing_if_it_diverged_or_was_measured() -> None:
    status, measured = ["diverged", "finished", "finished", "failed"], np.array([False, True, False, True])
    nothing = outcomes_of(Judge(0.5, 0.8), status, [math.nan] * 4, measured)
    assert nothing.tolist() == ["learned_nothing", "learned_nothing", None, None]
    assert counts(status, [math.nan] * 4, measured).tolist() == [True, True, False, False]
    assert Judge(0.5, 0.8).outcome("diverged", None) == "learned_nothing"
