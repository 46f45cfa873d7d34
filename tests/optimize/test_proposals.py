from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from optuna.trial import TrialState
from support.branin import SPACE, score

from robustness.optimize.proposals import SearchRun, frozen, parameters_of, propose, state_of
from robustness.space.space import read_space
from robustness.study.sections import Search

TREE = {
    "optimizer": {
        "sgd": {"learning_rate": [0.1, 0.01], "momentum": 0.9},
        "adam": {"learning_rate": {"low": 1e-5, "high": 1e-3, "scale": "log"}},
    },
    "batch_size": {"low": 8, "high": 64, "scale": "log", "integer": True},
    "samples": [1, 2, 4],
    "where": "batch_size * samples <= 100",
}


def proposals(data: dict[str, Any], count: int, ended: int, **options: Any) -> list[SearchRun]:
    """Runs of which the first `ended` have finished; the others are proposed without waiting for results."""
    space = read_space(data, "space")
    runs: list[SearchRun] = []
    for number in range(count):
        configuration = propose(Search(**options), space, 3, "arm", runs, "validation_auc")
        runs.append(SearchRun(number, configuration))
        if number < ended:
            value = score(configuration) if "initial_rho" in configuration else 0.5 + number / 100
            runs[-1] = SearchRun(number, configuration, "finished", value)
    return runs


@pytest.mark.parametrize("sampler", ["gp", "tpe", "random"])
def test_proposals_made_in_parallel_are_distinct_and_the_same_each_time(sampler: str) -> None:
    runs = proposals(SPACE, 9, 4, sampler=sampler)
    assert len({str(run.hyperparameters) for run in runs}) == 9
    assert proposals(SPACE, 9, 4, sampler=sampler) == runs
    places = [(math.log10(r.hyperparameters["learning_rate"]) / 2, r.hyperparameters["initial_rho"] / 10) for r in runs]
    assert min(math.dist(a, b) for a, b in itertools.combinations(places[4:], 2)) > 0.01


@pytest.mark.parametrize("sampler", ["gp", "tpe"])
def test_options_under_a_choice_and_conditions_are_respected(sampler: str) -> None:
    runs = proposals(TREE, 8, 8, sampler=sampler)
    for run in runs:
        values = run.hyperparameters
        assert values["batch_size"] * values["samples"] <= 100
        assert ("momentum" in values) == (values["optimizer"] == "sgd")
        parameters, distributions = parameters_of(read_space(TREE, "space").options, values)
        assert parameters.keys() == distributions.keys()
        assert f"optimizer.{values['optimizer']}.learning_rate" in parameters


def test_a_finite_space_is_used_up_before_anything_is_repeated() -> None:
    runs = proposals({"rate": [1, 2, 3], "size": [4, 5]}, 7, 7)
    assert len({str(run.hyperparameters) for run in runs[:6]}) == 6
    assert dict(runs[6].hyperparameters) in [dict(run.hyperparameters) for run in runs[:6]]


def test_faults_are_told_so_that_samplers_learn_from_them() -> None:
    space = read_space(SPACE, "space")
    place = {"learning_rate": 1e-4, "initial_rho": -3.0}
    told = {
        status: frozen(SearchRun(0, place, status, 0.8), space, "validation_auc", [])
        for status in ("finished", "diverged", "out_of_memory", "timed_out", "failed", "running")
    }
    assert (told["finished"].state, told["finished"].value) == (TrialState.COMPLETE, 0.8)
    assert (told["diverged"].state, told["diverged"].value) == (TrialState.COMPLETE, 0.5)
    for status in ("out_of_memory", "timed_out"):
        assert told[status].state == TrialState.COMPLETE
        assert told[status].constraints["fits"] > 0
    assert told["diverged"].constraints["fits"] <= 0
    assert told["failed"].state == TrialState.FAIL
    assert told["running"].state == TrialState.RUNNING


def test_a_measure_of_the_users_own_has_its_lowest_value_for_runs_that_came_to_nothing() -> None:
    place = {"learning_rate": 1e-4, "initial_rho": -3.0}
    runs = [
        SearchRun(0, place, "finished", -7.5),
        SearchRun(1, place, "finished", -2.0),
        SearchRun(2, place, "diverged"),
    ]
    assert state_of(runs[2], "log_likelihood", runs) == (TrialState.COMPLETE, -7.5)
