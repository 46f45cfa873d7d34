"""The document of a study, and what differs between two of them."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from support.studies import small

from robustness.study.changes import differences, extends
from robustness.study.loading import make_study
from robustness.study.study import Study


def make(**changes: Any) -> Study:
    return make_study(small(**changes), "study.yaml")


def test_a_document_is_plain_and_complete() -> None:
    document = make().document()
    assert json.loads(json.dumps(document)) == document
    assert document["arms"][0] == {"label": "mfvi", "method": "mfvi", "options": {}}
    assert document["training"]["evaluation_samples"] == 4
    assert document["space"]["stratify"] == "optimizer"


def test_a_document_reproduces_the_study() -> None:
    document = make().document()
    arms = [{"name": arm["label"], "method": arm["method"], **arm["options"]} for arm in document["arms"]]
    assert make_study({**document, "arms": arms}, "again").hash == make().hash


@pytest.mark.parametrize(
    "changes",
    [{"description": "other"}, {"resources__cpu": 2}, {"reference": {"good": {"mfvi": 0.1}}}, {"stop": {"level": 0.1}}],
)
def test_keys_that_do_not_affect_results_leave_the_hash_unchanged(changes: dict[str, Any]) -> None:
    assert make(**changes).hash == make().hash
    assert differences(make().document(), make(**changes).document()) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"training__epochs": 13}, "training.epochs: 12, now 13"),
        ({"sampling__seed": 1}, "sampling.seed: 0, now 1"),
        ({"task__train": 65}, "task.train: 64, now 65"),
        ({"outcomes__good": {"at_least": 0.7}}, "outcomes.good.at_least: 0.8, now 0.7"),
        ({"model__channel_factor": 0.625}, "model.channel_factor: not set before, now 0.625"),
        ({"arms": ["mfvi", {"name": "radial", "method": "mfvi"}]}, "arms.radial.method: 'radial', now 'mfvi'"),
        ({"space__batch_size": [16, 32]}, "space.batch_size: [16, 32, 64], now [16, 32]"),
    ],
)
def test_keys_that_affect_results_change_the_hash_and_are_listed(changes: dict[str, Any], line: str) -> None:
    before, after = make(), make(**changes)
    assert before.hash != after.hash
    assert differences(before.document(), after.document()) == [line]
    assert not extends(before.document(), after.document())


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sampling__configurations": 13},
        {"sampling__replicates": 2},
        {"arms": ["radial", "mfvi", "mfvi_scaled"]},
        {"sampling__configurations": 20, "description": "more"},
    ],
)
def test_more_of_the_same_extends_a_study_and_less_does_not(changes: dict[str, Any]) -> None:
    before, after = make().document(), make(**changes).document()
    assert extends(before, after)
    if len(changes) and "description" not in changes:
        assert not extends(after, before)


def test_comparing_documents_does_not_change_them() -> None:
    before, after = make().document(), make(sampling__configurations=20).document()
    copies = copy.deepcopy((before, after))
    extends(before, after)
    differences(before, after)
    assert (before, after) == copies
