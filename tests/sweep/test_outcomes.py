"""The judge: one rule, for a single trial and for arrays of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from robustness.goal import MINIMIZE
from robustness.sweep.outcome_arrays import counts, outcomes_of, thresholds_of
from robustness.sweep.outcomes import Judge, judged_epoch, judges
from robustness.trial import COUNTED, ENDED, PENDING, EpochResult

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
    one_by_one = [
        Judge(0.5, 0.8).outcome(each, None, measured=bool(seen)) for each, seen in zip(status, measured, strict=True)
    ]
    assert one_by_one == nothing.tolist()


def judge_of(rule: str, epoch: str = "last", **part: object) -> Judge:
    document = {"outcomes": {"learned_nothing": {rule: 0.01}, "good": {"at_least": 0.8}, "epoch": epoch}}
    permutation = {"point": 0.62, "low": 0.61, "high": 0.64, "count": 100_000}
    return Judge.of(document, {"threshold": 0.62, "permutation": permutation, "scores": [0.5], **part})


CELLS = {
    "mfvi -4": {"value": 0.1, "low": 0.05, "high": 0.2, "networks": 25},
    "mfvi 0": {"value": 0.7, "low": 0.65, "high": 0.75, "networks": 25},
}


def test_untrained_networks_set_a_threshold_for_each_arm_and_rho() -> None:
    judge = judge_of("no_better_than_untrained", by_cell={**CELLS, "mfvi -4": {**CELLS["mfvi -4"], "value": 0.62}})
    assert [judge.threshold("mfvi", rho) for rho in (-4, 0, 0.0)] == [0.62, 0.7, 0.7]
    assert judge.nothing == 0.62
    # A cell that was not scored has the strictest threshold.
    assert judge.threshold("radial", -4) == 0.7
    assert judge.outcome("finished", 0.66, judge.threshold("mfvi", -4)) == "between"
    assert judge.outcome("finished", 0.66, judge.threshold("mfvi", 0)) == "learned_nothing"


@pytest.mark.parametrize(
    ("start", "expected"),
    [(0.5, 0.62), (0.55, 0.65), (0.45, 0.65), (0.3, 0.8), (0.7, 0.8), (None, 1.1), (math.nan, 1.1)],
)
def test_a_start_raises_the_threshold_by_its_distance_from_one_half(start: float | None, expected: float) -> None:
    judge = judge_of("no_better_than_start", by_cell=CELLS)
    assert judge.threshold("mfvi", -4, start) == pytest.approx(expected)
    metric = 0.7
    outcome = judge.outcome("finished", metric, judge.threshold("mfvi", -4, start))
    folded = 1.0 if start is None or math.isnan(start) else max(start, 1 - start)
    learned = metric > 0.62 and metric - folded > 0.1
    assert outcome == ("between" if learned else "learned_nothing")


def test_a_good_trial_learned_whatever_its_start() -> None:
    judge = judge_of("no_better_than_start", by_cell=CELLS)
    assert judge.outcome("finished", 0.8, judge.threshold("mfvi", -4, 0.78)) == "good"
    assert judge.outcome("finished", 0.79, judge.threshold("mfvi", -4, 0.78)) == "learned_nothing"
    # By the other rules a trial has to pass their thresholds first.
    strict = judge_of("no_better_than_untrained", by_cell={"mfvi 0": {**CELLS["mfvi 0"], "value": 0.9}})
    assert strict.outcome("finished", 0.85, strict.threshold("mfvi", 0)) == "learned_nothing"


@pytest.mark.parametrize("rule", ["no_better_than_untrained", "no_better_than_guessing", "no_better_than_start"])
def test_own_thresholds_in_scalar_and_array_form_agree(rule: str) -> None:
    judge = judge_of(rule, by_cell=CELLS)
    generator = np.random.default_rng(0)
    metrics, starts = generator.random(300), generator.random(300)
    rhos = generator.choice([-4, 0], 300)
    thresholds = thresholds_of(judge, ["mfvi"] * 300, rhos, starts)
    together = outcomes_of(judge, ["finished"] * 300, metrics, False, thresholds)
    one_by_one = [
        judge.outcome("finished", metric, judge.threshold("mfvi", rho, start))
        for metric, rho, start in zip(metrics.tolist(), rhos.tolist(), starts.tolist(), strict=True)
    ]
    assert together.tolist() == one_by_one
    assert len(set(one_by_one)) == 3


def test_the_ends_of_the_error_are_judges_too() -> None:
    document = {"outcomes": {"learned_nothing": {"no_better_than_guessing": 0.01}, "good": {"at_least": 0.8}}}
    note = {"threshold": 0.62, "permutation": {"point": 0.62, "low": 0.61, "high": 0.64}}
    assert [judges(document, note, end)["last"].nothing for end in ("value", "low", "high")] == [0.62, 0.61, 0.64]
    # An old note states no error.
    assert judges(document, {"threshold": 0.62, "permutation": {"point": 0.62}}, "high")["last"].nothing == 0.62


def test_until_chance_is_known_a_trial_may_be_good_but_has_not_learned_nothing() -> None:
    document = {
        "outcomes": {"learned_nothing": {"no_better_than_start": 0.01}, "good": {"at_least": 0.8}, "epoch": "best"}
    }
    judge = Judge.of(document, None)
    outcomes = [judge.outcome("finished", metric, judge.threshold("mfvi", 0, 0.6)) for metric in (0.3, 0.9)]
    assert outcomes == ["between", "good"]


@pytest.mark.parametrize("inclusive", [False, True])
def test_an_error_is_judged_as_its_accuracy(inclusive: bool) -> None:
    scores = np.array([0.25, 0.5, 0.75, 1.0, math.nan])
    status = ["finished"] * len(scores)
    accuracy = Judge(0.5, 0.75, inclusive)
    error = Judge(0.5, 0.25, inclusive, goal=MINIMIZE)
    assert outcomes_of(error, status, 1 - scores).tolist() == outcomes_of(accuracy, status, scores).tolist()


def test_the_best_epoch_of_a_loss_is_the_first_of_the_lowest() -> None:
    losses = [0.7, 0.4, 0.3, 0.3, math.nan]
    epochs = [EpochResult(number, {"loss": loss}) for number, loss in enumerate(losses, start=1)]
    assert judged_epoch(epochs, "loss", "best", "finished", MINIMIZE) == (0.3, 3)
    assert judged_epoch(epochs, "loss", "last", "finished", MINIMIZE) == (0.3, 4)
    assert judged_epoch(epochs, "loss", "best", "finished") == (0.7, 1)


def test_the_document_of_a_loss_gives_the_judge_its_side() -> None:
    outcomes = {"goal": "minimize", "learned_nothing": {"above": 0.69}, "good": {"at_most": 0.3}, "epoch": "best"}
    judge = Judge.of({"outcomes": outcomes}, None)
    assert [judge.outcome("finished", loss) for loss in (0.7, 0.69, 0.3)] == ["learned_nothing", "between", "good"]
    assert judge.why == "the study sets it: above 0.69"


def test_without_thresholds_every_trial_with_a_metric_lies_between() -> None:
    judge = Judge.of({"outcomes": {"learned_nothing": None, "good": None, "epoch": "best"}}, None)
    assert [judge.outcome("finished", score) for score in (0.0, 1.0)] == ["between", "between"]
    assert judge.outcome("diverged", None) == "learned_nothing"
