"""Small studies of `robustness.trainables.theory`, and their trials run in this process."""

from __future__ import annotations

from typing import Any

from robustness.execution.inline import InlineExecutor
from robustness.plugins import find_trainable
from robustness.store import Store, StudyStore
from robustness.study.loading import make_study
from robustness.study.study import Study
from robustness.sweep.plan import make_plan
from robustness.sweep.sweep import sweep
from robustness.trial import EpochResult, Trial

BUBBLE: dict[str, Any] = {
    "name": "bubble",
    "trainable": "soap_bubble",
    "arms": ["mfvi", "radial"],
    "space": {
        "layer": {"linear": {"inputs": 9, "outputs": 1}, "convolution": {"inputs": 64, "outputs": 64}},
        "initial_rho": -2,
    },
    "sampling": {"strategy": "grid"},
    "training": {"samples": 400, "bins": 20},
    "outcomes": {
        "metric": "ks_p_value",
        "epoch": "last",
        "learned_nothing": {"below": 0.001},
        "good": {"at_least": 0.001},
    },
}
NOISE: dict[str, Any] = {
    "name": "noise",
    "trainable": "gradient_noise",
    "arms": ["mfvi", "mfvi_scaled", "radial"],
    "space": {"channels": [8, 16], "sigma": [0.01, 0.3, 1.0]},
    "sampling": {"strategy": "grid", "replicates": 2},
    "training": {"samples": 4},
    "outcomes": {
        "metric": "signal_to_noise",
        "epoch": "last",
        "learned_nothing": {"below": 0.1},
        "good": {"at_least": 1.0},
    },
}


def study(base: dict[str, Any], **changes: Any) -> Study:
    return make_study(base | changes, "mine.yaml")


def results(found: Study) -> list[tuple[Trial, EpochResult]]:
    """Each trial of a study with its only epoch."""
    measured = []
    for trial in make_plan(found).trials:
        (result,) = find_trainable(trial.trainable)(trial)
        measured.append((trial, result))
    return measured


def swept(store: Store, found: Study) -> StudyStore:
    """The study, swept in this process."""
    plan = make_plan(found)
    registered = store.register(found, plan)
    with registered.lock():
        sweep(found, plan, registered, InlineExecutor())
    return registered
