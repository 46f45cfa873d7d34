"""Trials that train in a moment: drawn pictures of 16 px and a narrow network."""

from __future__ import annotations

from typing import Any

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
