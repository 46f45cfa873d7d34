"""The contract tests that the example package runs on its own."""

from __future__ import annotations

from robustness.testing import MethodContract, TaskContract, TrainableContract


class TestFrozen(MethodContract):
    method = "frozen"


class TestStripes(TaskContract):
    task = {"name": "stripes", "pictures": 20}


class TestWalk(TrainableContract):
    study = {
        "name": "walks",
        "trainable": "walk",
        "arms": ["plain", "drifting"],
        "space": {"size": [0.1, 1.0]},
        "sampling": {"strategy": "grid"},
        "outcomes": {"metric": "position", "learned_nothing": {"below": 0.0}, "good": {"at_least": 1.0}},
    }
