"""Continual-learning studies: the bundled ones are valid, and errors in others are explained."""

from __future__ import annotations

from typing import Any

import pytest

from robustness.errors import RobustnessError, TaskError
from robustness.study.loading import load_study, make_study
from robustness.study.study import Study
from robustness.sweep.plan import make_plan
from robustness.trainables.continual.fashion_mnist import CHECKSUMS
from robustness.trainables.continual.options import ARMS

BUNDLED = (
    "split_fashion_mnist",
    "split_fashion_mnist_single_head",
    "split_fashion_mnist_small",
    "split_fashion_mnist_single_head_small",
)


def study(**changes: Any) -> Study:
    space = {"optimizer": "amsgrad", "learning_rate": 0.001, "epochs": [1, 2], "initial_rho": -6}
    data: dict[str, Any] = {
        "name": "mine",
        "trainable": "continual",
        "task": {"name": "split_fashion_mnist"},
        "model": {"name": "mlp", "heads": 5},
        "arms": ["mfvi", "radial"],
        "space": space | changes.pop("space", {}),
        "sampling": {"strategy": "grid"},
        "outcomes": {
            "metric": "validation_accuracy",
            "epoch": "last",
            "learned_nothing": {"below": 0.6},
            "good": {"at_least": 0.9},
        },
    }
    return make_study(data | changes, "mine.yaml", check_data=False)


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_study_has_the_paper_s_model_and_all_three_arms(name: str) -> None:
    loaded = load_study(name, check_data=False)
    assert loaded.name == name
    assert loaded.model == {"name": "mlp", "hidden": [200] * 4, "heads": 1 if "single" in name else 5}
    assert tuple(arm.label for arm in loaded.arms) == ARMS
    assert (loaded.outcomes.metric, loaded.outcomes.epoch) == ("validation_accuracy", "last")


@pytest.mark.parametrize("name", BUNDLED[:2])
def test_the_whole_grid_has_the_paper_s_21_cells(name: str) -> None:
    plan = make_plan(load_study(name, check_data=False))
    cells = {(cell["epochs"], cell["batch_size"]) for cell in plan.configurations}
    assert cells == {(e, b) for e in (3, 5, 10, 15, 20, 60, 120) for b in (1024, 2048, 10000)}
    assert len(plan.trials) == 63


def test_defaults_are_filled_in_so_that_the_store_keeps_them() -> None:
    document = study().document()
    assert document["training"]["evaluation_samples"] == 16
    assert document["task"]["tasks"] == 5


def test_missing_data_is_reported_before_a_study_runs(tmp_path: Any) -> None:
    overrides = [f"task.folder={tmp_path}"]
    load_study("split_fashion_mnist", overrides, check_data=False)
    with pytest.raises(TaskError, match=f"{next(iter(CHECKSUMS))}.*apt-get install"):
        load_study("split_fashion_mnist", overrides)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": {"name": "split_mnist"}}, r"task\.name"),
        ({"task": {"name": "split_fashion_mnist", "fodler": "x"}}, r"task\.fodler: .*folder"),
        ({"task": {"name": "split_fashion_mnist", "tasks": "5"}}, r"task\.tasks"),
        ({"training": {"evaluation_samples": 0}}, r"training\.evaluation_samples"),
        ({"model": {"name": "vgg16"}}, r"model\.name"),
        ({"model": {"name": "mlp", "heads": 3}}, r"model\.heads: must be 1 .* or 5"),
        ({"arms": ["radail"]}, "radail.*radial"),
        ({"arms": [{"name": "mfvi", "initial_rho": "low"}]}, "initial_rho"),
        ({"space": {"batchsize": 4}}, r"space\.batchsize: .*batch_size"),
        ({"space": {"epochs": [0, 3]}}, r"space\.epochs: must be an integer >= 1, found 0"),
        ({"space": {"dropout_rate": 0.5}}, r"space\.dropout_rate"),
    ],
)
def test_an_invalid_study_gets_one_line_that_names_the_problem(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RobustnessError, match=words) as caught:
        study(**changes)
    assert str(caught.value).startswith("mine.yaml: ")
    assert "\n" not in str(caught.value)


def test_epochs_and_the_initial_rho_are_required() -> None:
    space = {"optimizer": "amsgrad", "learning_rate": 0.001, "epochs": 3}
    base = study()
    for missing, rest in (("epochs", space | {"initial_rho": -6}), ("initial_rho", space)):
        rest = {key: value for key, value in rest.items() if key != missing}
        with pytest.raises(RobustnessError, match=missing):
            make_study(_file(base, rest), "mine.yaml", check_data=False)
    arms = [{"name": name, "method": "radial", "initial_rho": rho} for name, rho in (("low", -6), ("high", -1))]
    assert len(make_study(_file(base, space) | {"arms": arms}, "mine.yaml", check_data=False).arms) == 2


def _file(base: Study, space: dict[str, Any]) -> dict[str, Any]:
    """The base study as the content of a file, with a different space."""
    document = base.document()
    kept = ("name", "trainable", "task", "model", "sampling", "training", "outcomes")
    return {key: document[key] for key in kept} | {"space": space, "arms": ["mfvi", "radial"]}
