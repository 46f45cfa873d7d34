"""Regression studies: the bundled ones are valid, and errors in others are explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.files import data_set

from robustness.errors import RobustnessError, TaskError
from robustness.study.loading import load_study, make_study
from robustness.study.study import Study
from robustness.sweep.plan import make_plan
from robustness.trainables.regression.data_sets import DATA_SETS


def study(check_data: bool = False, **changes: Any) -> Study:
    space = {"data_set": ["boston", "yacht"], "optimizer": "adam", "learning_rate": 0.001, "batch_size": [16, 64]}
    data: dict[str, Any] = {
        "name": "mine",
        "trainable": "regression",
        "task": {"folder": "nowhere"},
        "arms": ["mfvi", "radial"],
        "space": space | {"initial_rho": -5} | changes.pop("space", {}),
        "sampling": {"strategy": "grid"},
        "outcomes": {"metric": "validation_gain", "learned_nothing": {"below": 0.05}, "good": {"at_least": 0.2}},
    }
    return make_study(data | changes, "mine.yaml", check_data=check_data)


@pytest.mark.parametrize(("name", "splits"), [("uci", 20), ("uci_small", 10)])
def test_a_bundled_study_has_the_paper_s_grid_on_all_nine_sets(name: str, splits: int) -> None:
    loaded = load_study(name, check_data=False)
    assert loaded.name == name
    assert loaded.model == {"name": "mlp", "hidden": [50]}
    plan = make_plan(loaded)
    cells = {(each["data_set"], each["learning_rate"], each["batch_size"]) for each in plan.configurations}
    assert cells == {(s, rate, size) for s in DATA_SETS for rate in (1e-3, 1e-4) for size in (16, 64, 1000)}
    assert len(plan.trials) == 108
    assert loaded.reference is not None
    for figures in loaded.reference.figures.values():
        assert set(figures) == set(DATA_SETS)
    # Two arms on the splits after the first; protein has only four of those.
    assert plan.winners == 2 * (8 * (splits - 1) + 4)


def test_defaults_are_filled_in_so_that_the_store_keeps_them() -> None:
    document = study(training={"epochs": 3}).document()
    assert document["training"]["epochs"] == 3
    assert document["training"]["validation_share"] == 0.1
    assert document["model"] == {"name": "mlp", "hidden": [50]}


def test_the_data_is_checked_unless_it_may_be_elsewhere() -> None:
    with pytest.raises(TaskError, match=r"^mine\.yaml: task\.folder: .*boston.data\.txt' does not exist"):
        study(check_data=True)
    assert study(check_data=True, task={"folder": str(data_set("uci"))}).task["name"] == "uci"


def test_a_data_set_can_have_its_own_options() -> None:
    space = {"data_set": {"boston": {"noise_scale": [0.1, 0.3]}, "yacht": {"noise_scale": "learned"}}}
    plan = make_plan(study(space=space))
    assert len(plan.configurations) == 6


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"space": {"data_set": "bostn"}}, r"space\.data_set: unknown data set 'bostn'; did you mean 'boston'"),
        ({"space": {"data_set": {"low": 1, "high": 2}}}, r"space\.data_set: must be a name"),
        ({"space": {"noise_scale": [0.1, -1]}}, r"space\.noise_scale: must be learned, or a number above 0, found -1"),
        ({"space": {"optimizer": "sgd"}}, r"space\.optimizer: must be adam, found 'sgd'"),
        (
            {"space": {"batchsize": 3}},
            r"space\.batchsize: unknown hyperparameter 'batchsize'; did you mean 'batch_size'",
        ),
        ({"training": {"steps": 3}}, r"training\.steps: unknown key 'steps'"),
        ({"training": {"validation_share": 1.0}}, r"training\.validation_share: must be less than 1, found 1\.0"),
        ({"model": {"hidden": [0]}}, r"model\.hidden"),
        ({"task": {"name": "uci"}}, r"task\.folder: is missing"),
        ({"arms": ["mfvi", "deep_ensemble"]}, "unknown regression arm 'deep_ensemble'"),
        ({"arms": [{"name": "radial", "initial_rh": 1}]}, "did you mean 'initial_rho'"),
        ({"sampling": {"strategy": "grid", "replicates": 21}}, r"sampling\.replicates: must be at most 20"),
        ({"winners": {"replicates": 21}}, r"winners: data set .boston. has 20 splits, found 21 replicates"),
        (
            {"outcomes": {"metric": "test_gain", "learned_nothing": {"below": 0}, "good": {"at_least": 1}}},
            r"outcomes\.metric: unknown metric 'test_gain'",
        ),
    ],
)
def test_an_invalid_study_gets_one_line(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RobustnessError, match=words) as caught:
        study(**changes)
    assert str(caught.value).startswith("mine.yaml: ")
    assert "\n" not in str(caught.value)


def test_a_space_must_include_what_every_configuration_needs(tmp_path: Path) -> None:
    for missing in ("data_set", "learning_rate", "batch_size", "initial_rho"):
        space = {"data_set": "boston", "optimizer": "adam", "learning_rate": 0.1, "batch_size": 4, "initial_rho": -5}
        del space[missing]
        path = tmp_path / "mine.yaml"
        lines = ["name: mine", "trainable: regression", "task: {folder: nowhere}", "arms: [mfvi]"]
        lines += [f"space: {{{', '.join(f'{key}: {value}' for key, value in space.items())}}}"]
        lines += ["sampling: {strategy: grid}", "outcomes: {metric: validation_gain, learned_nothing: {below: 0.05},"]
        path.write_text("\n".join(lines) + " good: {at_least: 0.2}}\n")
        with pytest.raises(RobustnessError, match=missing):
            load_study(str(path), check_data=False)
