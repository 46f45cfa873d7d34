"""Several tasks in a study: how they are read, planned, and refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support.studies import small, write_study

from robustness.errors import RobustnessError
from robustness.streams import Streams
from robustness.study.changes import differences, extends
from robustness.study.loading import load_study, make_study
from robustness.sweep.plan import make_plan
from robustness.sweep.sweep import read_keys
from robustness.trial import Trial, TrialKey

TWO: list[dict[str, Any]] = [{"name": "cifar", "classes": 10}, {"name": "mnist"}]


def test_every_configuration_arm_and_replicate_is_trained_on_each_task(tmp_path: Path) -> None:
    sampling = {"configurations": 2, "replicates": 3, "seed": 1}
    plan = make_plan(load_study(str(write_study(tmp_path, tasks=TWO, sampling=sampling))))
    assert len(plan.trials) == 2 * 2 * 3 * 2
    assert plan.tasks == ["cifar", "mnist"]
    # A pair is a task, a configuration and a replicate, and its trials stand together.
    assert [str(trial.key) for trial in plan.trials[:6]] == [
        *("0/first@cifar", "0/second@cifar", "0/first@mnist", "0/second@mnist", "1/first@cifar", "1/second@cifar")
    ]
    assert plan.trials[0].task == {"name": "cifar", "classes": 10}
    assert plan.trials[0].hyperparameters == plan.trials[2].hyperparameters


def test_a_trial_of_one_of_several_tasks_is_asked_for_by_its_key(tmp_path: Path) -> None:
    plan = make_plan(load_study(str(write_study(tmp_path, tasks=TWO))))
    assert read_keys(["1/first@mnist"], plan) == [TrialKey(1, "first", 0, "mnist")]
    with pytest.raises(RobustnessError, match=r"no trial 1/first@svhn; .* on the tasks cifar, mnist"):
        read_keys(["1/first@svhn"], plan)
    with pytest.raises(RobustnessError, match="CONFIGURATION/ARM@TASK"):
        read_keys(["1/first"], plan)


def test_random_streams_differ_between_tasks_and_stay_as_they_were_without() -> None:
    alone = Streams.of(Trial("s", 0, 3, "a"))
    keys = {
        Streams.of(Trial("s", 0, 3, "a", task_label=label)).key("data_order", 1) for label in ("", "cifar", "mnist")
    }
    assert len(keys) == 3
    assert alone.key("data_order", 1) == Streams(0, 3, 0).key("data_order", 1)
    assert Streams.of(Trial("s", 0, 3, "b", task_label="cifar")).key("radius") in {
        Streams(0, 3, 0, "cifar").key("radius")
    }


def test_a_built_in_trainable_checks_each_task() -> None:
    picture = {"name": "synthetic_fundus", "image_size": 32, "train": 64, "validation": 32}
    data = small(tasks=[picture, {**picture, "label": "large", "train": 128}], outcomes={"metric": "validation_auc"})
    del data["task"]
    study = make_study(data, "study.yaml")
    assert [task.label for task in study.tasks] == ["synthetic_fundus", "large"]
    assert [task["label"] for task in study.document()["tasks"]] == ["synthetic_fundus", "large"]
    assert study.training["kl_weight"] == 1.0
    data["tasks"][1]["image_size"] = "large"
    with pytest.raises(RobustnessError, match=re.escape("study.yaml: tasks.1.image_size")):
        make_study(data, "study.yaml")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"tasks": [{"name": "a"}, {"classes": 3}]}, "tasks.1.name: is missing, found {'classes': 3}"),
        ({"tasks": [{"name": "a"}, {"name": "a"}]}, "tasks.1: the task 'a' appears twice; give it a label"),
        ({"tasks": [{"name": 3}]}, "tasks.0.name: must be text, found 3"),
        ({"tasks": []}, "tasks: must have at least 1 entry, found []"),
        ({"tasks": [{"name": "a", "label": "x/y"}]}, "tasks.0.label: must have no / or"),
        ({"tasks": TWO, "task": {"name": "a"}}, "tasks: is beside task; list every task under tasks"),
        ({"tasks": TWO, "stop": {}}, "stop: is for studies with one task"),
        ({"tasks": TWO, "winners": {"replicates": 2}}, "winners: is for studies with one task"),
        ({"tasks": TWO, "search": {"runs": 5}}, "search: is for studies with one task"),
    ],
)
def test_tasks_that_are_half_said_are_named_in_one_line(tmp_path: Path, changes: dict[str, Any], line: str) -> None:
    with pytest.raises(RobustnessError, match=re.escape(line)) as caught:
        load_study(str(write_study(tmp_path, **changes)))
    assert "\n" not in str(caught.value)


def test_tasks_may_be_added_and_reordered_but_not_changed(tmp_path: Path) -> None:
    def document(tasks: list[dict[str, Any]] | None) -> dict[str, Any]:
        changes: dict[str, Any] = {} if tasks is None else {"tasks": tasks}
        return load_study(str(write_study(tmp_path, **changes))).document()

    one, two = document(TWO[:1]), document(TWO)
    assert extends(one, two)
    assert extends(two, document(TWO[::-1]))
    assert not extends(two, one)
    assert differences(one, two) == ["the task 'mnist' was added"]
    assert not extends(one, document([{**TWO[0], "classes": 11}]))
    # The streams of a single `task` are not keyed by it, so its trials are different ones.
    assert not extends(document(None), one)
    assert "tasks" not in document(None)
