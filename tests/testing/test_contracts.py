"""The project's own methods, tasks and trainables keep the contracts that it offers to others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from support.files import write_idx_files
from support.theory_studies import BUBBLE, NOISE
from support.trials import write_linear_set

from robustness.methods import METHODS
from robustness.testing import MethodContract, TaskContract, TrainableContract


@pytest.mark.parametrize("method", METHODS)
class TestMethods(MethodContract):
    """Every bundled method, by its file."""

    @pytest.fixture(autouse=True)
    def _under_test(self, method: str) -> None:
        self.method = method  # type: ignore[misc]


class TestDrawnPictures(TaskContract):
    task: ClassVar[dict[str, Any]] = {
        "name": "synthetic_fundus",
        "image_size": 16,
        "train": 40,
        "validation": 20,
        "test": 20,
    }


class TestArrays(TaskContract):
    @pytest.fixture(autouse=True)
    def _written(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        arrays: dict[str, Any] = {
            f"{split}_{kind}": rng.integers(0, 255, (12, 16, 16, 3), dtype=np.uint8) if kind == "images" else labels
            for split in ("train", "val", "test")
            for kind, labels in (("images", None), ("labels", np.arange(12) % 2))
        }
        np.savez(tmp_path / "small.npz", **arrays)
        self.task = {"name": "npz", "file": str(tmp_path / "small.npz")}  # type: ignore[misc]


class TestSoapBubble(TrainableContract):
    study: ClassVar[dict[str, Any]] = BUBBLE


class TestGradientNoise(TrainableContract):
    study: ClassVar[dict[str, Any]] = NOISE


class TestRegression(TrainableContract):
    @pytest.fixture(autouse=True)
    def _written(self, tmp_path: Path) -> None:
        self.study = {  # type: ignore[misc]
            "name": "linear",
            "trainable": "regression",
            "task": {"folder": str(write_linear_set(tmp_path))},
            "arms": ["mfvi", "radial"],
            "space": {
                "data_set": "yacht",
                "optimizer": "adam",
                "learning_rate": [0.01, 0.001],
                "batch_size": 64,
                "initial_rho": -5,
            },
            "sampling": {"strategy": "grid"},
            "training": {"epochs": 2},
            "outcomes": {"metric": "validation_gain", "learned_nothing": {"below": 0.05}, "good": {"at_least": 0.2}},
        }


class TestContinualLearning(TrainableContract):
    @pytest.fixture(autouse=True)
    def _written(self, tmp_path: Path) -> None:
        self.study = {  # type: ignore[misc]
            "name": "sequence",
            "trainable": "continual",
            "task": {"name": "split_fashion_mnist", "folder": str(write_idx_files(tmp_path)), "checksums": False},
            "model": {"name": "mlp", "hidden": [12], "heads": 5},
            "arms": ["mfvi", "radial"],
            "space": {
                "optimizer": "amsgrad",
                "learning_rate": 0.001,
                "epochs": [1, 2],
                "batch_size": 32,
                "initial_rho": -6,
                "variational_samples": 1,
            },
            "sampling": {"strategy": "grid"},
            "outcomes": {
                "metric": "validation_accuracy",
                "epoch": "last",
                "learned_nothing": {"below": 0.6},
                "good": {"at_least": 0.95},
            },
        }
