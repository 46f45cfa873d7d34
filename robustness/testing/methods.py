"""The contract of a method: that of a trainable, in a small classification study beside a network without noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch

from robustness.methods import read_method_options
from robustness.testing.running import refusal
from robustness.testing.trainables import TrainableContract
from robustness.trainables.classification.options import read_training
from robustness.trainables.classification.training import build_ensemble

TASK = {"name": "synthetic_fundus", "image_size": 16, "train": 48, "validation": 32, "test": 16}
MODEL = {"name": "vgg_small", "base_channels": 4, "depth": "short"}
SPACE = {
    "optimizer": {"amsgrad": {"learning_rate": [0.001, 0.0001]}},
    "batch_size": [16, 24],
    "variational_samples": [1, 2],
    "initial_rho": [-5, -3],
}


class MethodContract(TrainableContract):
    """What every method promises. Set `method`, and `options` or `space` if it needs them."""

    method: ClassVar[str]
    """The name of a bundled or installed method, or `package.module:name`."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Options of the arm."""
    space: ClassVar[Mapping[str, Any]] = SPACE
    """The search space, with every hyperparameter that the method needs."""

    @property
    def study(self) -> Mapping[str, Any]:  # type: ignore[override]
        return {
            "name": "contract",
            "task": TASK,
            "model": MODEL,
            "arms": ["deterministic", {"name": "under_test", "method": self.method, **self.options}],
            "space": dict(self.space),
            "sampling": {"configurations": 2, "seed": 5},
            "training": {"epochs": 2, "pretrain_epochs": 1, "evaluation_samples": 2},
            "outcomes": {"learned_nothing": {"below": 0.5}, "good": {"at_least": 0.8}},
        }

    def test_unknown_options_are_refused(self) -> None:
        message = refusal(lambda: read_method_options(self.method, {**self.options, "no_such_option": 1}))
        assert "no_such_option" in message, f"the error does not name the option: {message}"

    def test_initial_means_are_those_of_every_other_arm(self) -> None:
        plain, trial = self.of_arms()
        ensembles = [build_ensemble(each, read_training(each.training), 3, 2) for each in (plain, trial)]
        first, second = (next(iter(each.members)).posteriors() for each in ensembles)
        for layer, (one, other) in enumerate(zip(first, second, strict=False)):
            if one.mean.shape == other.mean.shape:
                assert torch.equal(one.mean, other.mean), f"layer {layer} starts from other means than the other arms"
