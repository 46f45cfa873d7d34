"""The section `outcomes`: goals, thresholds on their side, and studies without thresholds."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.studies import small

from robustness.errors import StudyFileError
from robustness.study.loading import make_study
from robustness.study.study import Study


def make(**outcomes: Any) -> Study:
    return make_study(small(outcomes=outcomes), "study.yaml")


LOSS = {"metric": "validation_nll", "learned_nothing": {"above": 0.69}, "good": {"at_most": 0.3}}


def test_the_goal_of_a_built_in_loss_need_not_be_said() -> None:
    study = make(**LOSS)
    assert study.outcomes.goal == "minimize"
    assert study.document()["outcomes"]["goal"] == "minimize"
    assert study.document() == make(**LOSS, goal="minimize").document()
    assert study.document()["outcomes"]["good"] == {"at_most": 0.3}


def test_a_study_that_maximises_has_the_document_of_the_time_before_goals() -> None:
    document = make(learned_nothing={"below": 0.6}, good={"at_least": 0.8}, goal="maximize").document()["outcomes"]
    assert document == {
        "metric": "validation_auc",
        "epoch": "best",
        "learned_nothing": {"no_better_than_untrained": None, "below": 0.6},
        "good": {"at_least": 0.8},
        "primary": "learned_nothing",
    }


def test_thresholds_may_be_left_out() -> None:
    study = make(metric="validation_nll")
    assert study.outcomes.learned_nothing is None
    assert study.outcomes.good is None
    assert study.outcomes.primary is None
    assert not study.outcomes.measures_chance


@pytest.mark.parametrize(
    ("outcomes", "line"),
    [
        ({**LOSS, "goal": "maximize"}, "outcomes: goal must be minimize for validation_nll, found maximize"),
        (
            {**LOSS, "learned_nothing": {"below": 0.69}},
            "learned_nothing.below is on the wrong side, since validation_nll has the goal minimize: "
            "set learned_nothing.above",
        ),
        ({**LOSS, "good": {"at_least": 0.3}}, "good.at_least is on the wrong side"),
        ({"learned_nothing": {"above": 0.6}, "good": {"at_least": 0.8}}, "set learned_nothing.below"),
        ({"learned_nothing": {"below": 0.6}, "good": {"at_most": 0.8}}, "set good.at_least"),
        (
            {**LOSS, "learned_nothing": {"above": 0.2}},
            r"learned_nothing.above (0.2) must not be below good.at_most (0.3); otherwise a trial could be good",
        ),
        ({"good": {"at_least": 0.8}}, "learned_nothing is missing beside good: set both thresholds, or leave out both"),
        ({"learned_nothing": {"below": 0.6}}, "good is missing beside learned_nothing"),
        ({"primary": "good"}, "primary is good, whose threshold is missing"),
        ({**LOSS, "learned_nothing": {"no_better_than_untrained": 0.01}}, "set {above: number}"),
        ({**LOSS, "good": {"at_most": 0.3, "at_least": 0.2}}, "needs exactly one of at_least and at_most"),
        ({**LOSS, "learned_nothing": {"above": -1.0}, "good": {"at_most": -2.0}}, "must be at least 0"),
        ({**LOSS, "goal": "smaller"}, "must be 'maximize' or 'minimize', found 'smaller'"),
    ],
)
def test_what_contradicts_the_goal_is_named_in_one_line(outcomes: dict[str, Any], line: str) -> None:
    with pytest.raises(StudyFileError, match=re.escape(line)) as caught:
        make(**outcomes)
    assert "\n" not in str(caught.value)


def test_early_stopping_needs_thresholds() -> None:
    with pytest.raises(StudyFileError, match="stop: compares fractions of outcomes"):
        make_study(small(outcomes={"metric": "validation_auc"}, stop={}), "study.yaml")


def test_a_search_for_a_loss_knows_its_goal_and_drops_thresholds_of_another_metric() -> None:
    data = small(outcomes={"learned_nothing": {"below": 0.6}, "good": {"at_least": 0.8}})
    del data["sampling"]
    study = make_study({**data, "sampling": {"seed": 0}, "search": {"objective": "nll", "runs": 3}}, "study.yaml")
    judged = study.judged_by_objective()
    assert study.objective_goal.minimizes
    assert (judged.outcomes.metric, judged.outcomes.goal, judged.outcomes.good) == ("validation_nll", "minimize", None)
    assert study.outcomes.goal == "maximize"
