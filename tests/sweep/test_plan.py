"""The plan: every configuration and trial, in an order that keeps an interrupted study balanced."""

from __future__ import annotations

from typing import Any

import pytest
from support.studies import small

from robustness.errors import SearchSpaceError, StudyFileError
from robustness.study.loading import load_study, make_study
from robustness.sweep.plan import Plan, make_plan
from robustness.trial import TrialKey


def plan(**changes: Any) -> Plan:
    return make_plan(make_study(small(**changes), "study.yaml"))


def test_the_papers_study_has_86_configurations_and_172_trials_of_720_and_576() -> None:
    made = make_plan(load_study("retinopathy_robustness", check_data=False))
    assert (made.space, made.allowed) == (720, 576)
    assert (len(made.configurations), len(made.trials)) == (86, 172)
    assert len({tuple(sorted(c.items())) for c in made.configurations}) == 86
    assert [c["optimizer"] for c in made.configurations].count("sgd") == 43
    configurations: list[dict[str, Any]] = [dict(values) for values in made.configurations]
    assert all(c["batch_size"] * c["variational_samples"] <= 256 for c in configurations)


def test_extending_the_papers_study_from_20_to_86_keeps_the_first_20() -> None:
    whole = make_plan(load_study("retinopathy_robustness", check_data=False))
    part = make_plan(load_study("retinopathy_robustness", ["sampling.configurations=20"], check_data=False))
    assert part.configurations == whole.configurations[:20]
    assert part.trials == whole.trials[:40]


def test_pairs_are_together_and_every_configuration_comes_once_before_any_is_repeated() -> None:
    keys = [trial.key for trial in plan(sampling__configurations=3, sampling__replicates=2).trials]
    assert keys == [
        TrialKey(configuration, arm, replicate)
        for replicate in (0, 1)
        for configuration in (0, 1, 2)
        for arm in ("mfvi", "radial")
    ]


def test_a_trial_carries_everything_that_a_worker_needs() -> None:
    arms = [{"name": "cold", "method": "mfvi", "initial_rho": -6}, "radial"]
    made = plan(arms=arms, sampling__seed=7)
    trial = made.trial(TrialKey(4, "cold"))
    assert (trial.study, trial.seed, trial.configuration, trial.replicate) == ("small", 7, 4, 0)
    assert (trial.arm, trial.method, trial.method_options) == ("cold", "mfvi", {"initial_rho": -6})
    assert trial.hyperparameters == made.configurations[4]
    assert trial.task["name"] == "synthetic_fundus"
    assert trial.model["base_channels"] == 4
    assert trial.training["epochs"] == 12
    assert trial.metric == "validation_auc"


def test_adding_an_arm_changes_no_configuration() -> None:
    assert plan(arms=["radial", "mfvi_scaled", "mfvi"]).configurations == plan().configurations


def test_an_unknown_trial_is_named() -> None:
    with pytest.raises(
        StudyFileError, match="has no trial 99/mfvi; it has configurations 0 to 11 and arms mfvi, radial"
    ):
        plan().trial(TrialKey(99, "mfvi"))


def test_too_many_configurations_are_refused_with_both_numbers() -> None:
    with pytest.raises(SearchSpaceError, match=r"'small': sampling\.configurations: 41 .* only 40"):
        plan(space__initial_rho=[-6, 0], sampling__configurations=41)


def test_a_continuous_space_has_no_counts() -> None:
    made = plan()
    assert (made.as_json()["space"], made.as_json()["allowed"]) == (None, None)
