"""Trials that train in a moment: drawn pictures of 16 px, and a linear regression in the place of `yacht`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from robustness.trial import Trial

SMALL_TASK: dict[str, Any] = {
    "name": "synthetic_fundus",
    "image_size": 16,
    "train": 64,
    "validation": 48,
    "test": 16,
}
HYPERPARAMETERS: dict[str, Any] = {
    "optimizer": "amsgrad",
    "learning_rate": 1e-3,
    "batch_size": 16,
    "variational_samples": 2,
    "initial_rho": -3.0,
}


def small_trial(
    method: str = "radial",
    training: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    **changes: Any,
) -> Trial:
    """A trial of the method, with changes to its hyperparameters."""
    return Trial(
        study="small",
        seed=3,
        configuration=1,
        arm=method.rpartition(":")[2],
        hyperparameters=HYPERPARAMETERS | changes,
        method=method,
        method_options=options or {},
        task=SMALL_TASK,
        model={"name": "vgg_small", "base_channels": 4, "depth": "short"},
        training={"epochs": 3, "evaluation_samples": 2} | (training or {}),
    )


def small_document(**changes: Any) -> dict[str, Any]:
    """A study of such trials: two arms at two initial rhos, on a grid."""
    document: dict[str, Any] = {
        "name": "small",
        "task": SMALL_TASK,
        "model": {"name": "vgg_small", "base_channels": 4, "depth": "short"},
        "arms": ["mfvi", "radial"],
        "space": small_space([-6, 0]),
        "sampling": {"strategy": "grid"},
        "training": {"epochs": 3, "pretrain_epochs": 1, "evaluation_samples": 2},
        "outcomes": {"learned_nothing": {"below": 0.5}, "good": {"at_least": 0.9}},
    }
    return document | changes


def small_space(initial_rhos: list[int]) -> dict[str, Any]:
    return {
        "optimizer": {"amsgrad": {"learning_rate": [0.001]}},
        "batch_size": [16],
        "variational_samples": [1],
        "initial_rho": initial_rhos,
    }


NOISE = 0.5
"""The standard deviation of the noise in the target's own units; the target's own is about 5."""


def write_linear_set(folder: Path) -> Path:
    """A folder with `yacht/data.txt`: 308 rows, 6 features, y = 40 + 2 x_0 - 3 x_1 + 4 x_2 + noise."""
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(308, 6))
    targets = 40 + inputs @ np.array([2.0, -3.0, 4.0, 0.0, 0.0, 0.0]) + rng.normal(0, NOISE, size=308)
    (folder / "yacht").mkdir(parents=True, exist_ok=True)
    np.savetxt(folder / "yacht" / "data.txt", np.column_stack([inputs, targets]))
    return folder


def regression_trial(
    folder: Path,
    method: str = "radial",
    training: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    replicate: int = 0,
    **changes: Any,
) -> Trial:
    """A trial of the method, with changes to its hyperparameters."""
    hyperparameters = {
        "data_set": "yacht",
        "optimizer": "adam",
        "learning_rate": 0.01,
        "batch_size": 64,
        "initial_rho": -4.0,
    }
    return Trial(
        study="regression",
        seed=3,
        configuration=1,
        arm=method,
        replicate=replicate,
        hyperparameters=hyperparameters | changes,
        method=method,
        method_options=options or {},
        task={"name": "uci", "folder": str(folder)},
        model={"hidden": [8]},
        training={"epochs": 2, "steps_per_epoch": 50, "evaluation_samples": 10} | (training or {}),
        metric="validation_gain",
        trainable="regression",
    )
