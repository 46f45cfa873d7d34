"""Checks of a continual-learning study, before anything runs and without torch."""

from __future__ import annotations

from dataclasses import replace

from robustness.errors import MethodError
from robustness.study.study import Study
from robustness.trainables.continual.fashion_mnist import find_files
from robustness.trainables.continual.options import read_arm, read_learning, read_model, read_task
from robustness.trainables.hyperparameters import HYPERPARAMETERS, always_given, check_hyperparameters

KNOWN = {
    name: HYPERPARAMETERS[name]
    for name in (
        "optimizer",
        "learning_rate",
        "learning_rate_decay",
        "momentum",
        "nesterov",
        "batch_size",
        "variational_samples",
        "initial_rho",
    )
} | {"epochs": HYPERPARAMETERS["batch_size"]}
"""The hyperparameters; `epochs` is the number of epochs per task."""


def check(study: Study, check_data: bool = True) -> Study:
    """Return the study with the defaults of its task and training filled in."""
    task = read_task(study.task)
    training = read_learning(study.training)
    read_model(study.model, task.tasks)
    hyperparameters = always_given(study.space.options)
    for arm in study.arms:
        options = read_arm(arm.method, arm.options)
        if options.initial_rho is None and "initial_rho" not in hyperparameters:
            raise MethodError(f"the arm {arm.label!r} needs 'initial_rho' in the search space, or as an option")
    needed = ("optimizer", "learning_rate", "epochs")
    check_hyperparameters(study.space.options, own_methods=False, known=KNOWN, needed=needed)
    if check_data:
        find_files(task.folder)
    return replace(study, task=task.model_dump(mode="json"), training=training.model_dump(mode="json"))
