"""Arms with spaces, training and networks of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.studies import small, write_study

from robustness.errors import RobustnessError
from robustness.study.arms import is_paired
from robustness.study.changes import extends
from robustness.study.loading import load_study, make_study
from robustness.study.study import Study
from robustness.sweep.plan import Plan, make_plan

ADAM = {"name": "adam", "space": {"rate": {"low": 1e-4, "high": 1e-2, "scale": "log"}, "beta": [0.9, 0.99]}}
SGD = {"name": "sgd", "space": {"rate": {"low": 1e-3, "high": 1.0, "scale": "log"}, "momentum": [0.0, 0.9]}}
BATCHES = {"batch_size": [16, 32, 64]}


def load(folder: Path, **changes: Any) -> Study:
    sampling = {"configurations": 20, "seed": 3}
    return load_study(
        str(write_study(folder, **{"arms": [ADAM, SGD], "space": BATCHES, "sampling": sampling, **changes}))
    )


def values(plan: Plan, arm: str, name: str) -> list[Any]:
    return [trial.hyperparameters[name] for trial in plan.trials if trial.arm == arm]


def test_shared_draws_are_equal_and_own_draws_are_apart(tmp_path: Path) -> None:
    study = load(tmp_path)
    plan = make_plan(study)
    assert study.paired
    assert values(plan, "adam", "batch_size") == values(plan, "sgd", "batch_size")
    assert set(values(plan, "adam", "batch_size")) == {16, 32, 64}
    assert not set(values(plan, "adam", "rate")) & set(values(plan, "sgd", "rate"))
    assert all(1e-4 <= rate <= 1e-2 for rate in values(plan, "adam", "rate"))
    assert [set(trial.hyperparameters) for trial in plan.trials[:2]] == [
        {"batch_size", "rate", "beta"},
        {"batch_size", "rate", "momentum"},
    ]
    assert set(plan.trials[0].own) == {"rate", "beta"}
    assert plan.configurations[0].keys() == {"batch_size"}


def test_another_arm_changes_nothing_for_the_others(tmp_path: Path) -> None:
    before = make_plan(load(tmp_path, arms=[SGD]))
    after = make_plan(load(tmp_path, arms=[{**ADAM, "name": "new"}, SGD, ADAM]))
    for name in ("batch_size", "rate", "momentum"):
        assert values(before, "sgd", name) == values(after, "sgd", name)


def test_arms_that_share_no_space_are_not_paired(tmp_path: Path) -> None:
    path = write_study(tmp_path, arms=[ADAM, SGD])
    study = load_study(str(path), ["space=null"])
    assert not study.paired
    assert not is_paired(study.document())
    assert is_paired(load(tmp_path).document())
    plan = make_plan(study)
    assert plan.configurations == ({},) * 5
    assert len(set(values(plan, "adam", "rate")) | set(values(plan, "sgd", "rate"))) == 10


def test_an_unpaired_grid_has_as_many_configurations_as_each_arm_needs(tmp_path: Path) -> None:
    arms = [{"name": "a", "space": {"x": [1, 2]}}, {"name": "b", "space": {"x": [1, 2, 3], "y": [1, 2]}}]
    plan = make_plan(load_study(str(write_study(tmp_path, arms=arms, sampling={"strategy": "grid"})), ["space=null"]))
    assert len(values(plan, "a", "x")) == 2
    assert len(values(plan, "b", "x")) == 6
    assert plan.as_json()["plan"][5]["own"] == {"b": {"x": 3, "y": 2}}


def test_training_and_model_of_an_arm_depart_from_the_study(tmp_path: Path) -> None:
    arms = ["plain", {"name": "long", "method": "plain", "training": {"epochs": 9}, "model": {"width": 2}}]
    sampling = {"configurations": 3, "seed": 0}
    study = load(tmp_path, arms=arms, model={"name": "mlp", "width": 1}, sampling=sampling)
    plain, long = make_plan(study).trials[:2]
    assert (plain.training, plain.model) == ({"epochs": 3}, {"name": "mlp", "width": 1})
    assert (long.training, long.model) == ({"epochs": 9}, {"name": "mlp", "width": 2})
    assert long.method_options == {}
    assert study.document()["arms"] == [
        {"label": "plain", "method": "plain", "options": {}},
        {"label": "long", "method": "plain", "options": {}, "training": {"epochs": 9}, "model": {"width": 2}},
    ]


def test_a_built_in_trainable_checks_each_arm_as_it_will_be_trained() -> None:
    rho = {"initial_rho": [-6, -4]}
    space = {"optimizer": {"sgd": {"learning_rate": [0.01]}}, "batch_size": [16], "variational_samples": [1]}
    outcomes = {"metric": "validation_nll"}
    arms: list[Any] = [{"method": "mfvi", "space": rho}, {"method": "radial", "space": rho, "training": {"epochs": 5}}]
    study = make_study(small(space=space, arms=arms, outcomes=outcomes), "study.yaml")
    assert study.training["epochs"] == 12
    assert study.training_of("radial")["epochs"] == 5
    assert study.training_of("radial")["kl_weight"] == 1.0
    with pytest.raises(RobustnessError, match=r"the arm 'radial': arms: .*needs 'initial_rho'"):
        make_study(small(space=space, arms=[arms[0], "radial"], outcomes=outcomes), "study.yaml")
    arms[1]["training"] = {"epochs": 0}
    with pytest.raises(RobustnessError, match=r"the arm 'radial': training.epochs"):
        make_study(small(space=space, arms=arms, outcomes=outcomes), "study.yaml")


def test_a_search_takes_the_space_and_network_of_an_arm() -> None:
    data = small(outcomes={"metric": "validation_nll"}, search={"runs": 3})
    rho = data["space"].pop("initial_rho")
    data["sampling"] = {"seed": 0}
    data["arms"] = [{"method": "mfvi", "space": {"initial_rho": rho}, "model": {"base_channels": 8}}]
    study = make_study(data, "study.yaml")
    assert "initial_rho" in study.space_of("mfvi").options.names()
    assert study.model_of("mfvi")["base_channels"] == 8


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"space": {"rate": [1, 2]}},
            "arms.0.space: 'rate' is also in the study's space, from which all arms draw alike: keep one of the two",
        ),
        ({"space": {}, "arms": [ADAM, "plain"]}, "space: is missing, and the arm 'plain' has no space of its own"),
        ({"arms": [{"name": "a", "space": 3}]}, "arms.0.space: must be a mapping of keys to values, found 3"),
        ({"arms": [{"name": "a", "training": "long"}]}, "arms.0.training: must be a mapping"),
        ({"arms": [{"name": "a", "space": {"x": []}}]}, "arms.0.space: x: the list of choices is empty"),
        ({"sampling": {"strategy": "grid"}}, "sampling.strategy: a grid cannot combine the study's space"),
        ({"space": {}, "stop": {}}, "stop: compares pairs, but the arms share no space"),
    ],
)
def test_spaces_that_contradict_each_other_are_named_in_one_line(
    tmp_path: Path, changes: dict[str, Any], line: str
) -> None:
    with pytest.raises(RobustnessError, match=re.escape(line)) as caught:
        make_plan(load(tmp_path, **changes))
    assert "\n" not in str(caught.value)


def test_an_arm_with_another_space_is_another_arm(tmp_path: Path) -> None:
    before = load(tmp_path, arms=[ADAM]).document()
    assert extends(before, load(tmp_path).document())
    assert not extends(before, load(tmp_path, arms=[{**ADAM, "space": SGD["space"]}]).document())
