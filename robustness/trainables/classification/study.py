"""Checks of a classification study, before anything runs and without torch."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from robustness.errors import (
    MethodError,
    ModelError,
    RobustnessError,
    StudyFileError,
    TaskError,
    shown,
    unknown_name,
)
from robustness.methods import METHODS, find_method, read_method_options
from robustness.metrics import METRICS, find_metric
from robustness.space.space import Space
from robustness.study.arms import Arm
from robustness.study.outcome_sections import Judgement
from robustness.study.study import Study
from robustness.tasks import check_task, is_task, task_image_size, task_names
from robustness.trainables.classification.options import TrainingOptions, read_training
from robustness.trainables.hyperparameters import always_given, check_hyperparameters
from robustness.trainables.models import MODELS, check_model
from robustness.trainables.precision import refuse_emulation, settled_training

LATER: Mapping[str, Any] = {"precision": "float32", "evaluate_every": 1, "last_epoch_samples": None}
"""Options that were added after the first studies, with their defaults."""


def check(study: Study, check_data: bool = True) -> Study:
    """Return the study with all training options filled in; raises if a section is missing or invalid."""
    for section, options in (("task", study.task), ("model", study.model), ("training", study.training)):
        if not options:
            raise StudyFileError(f"{section}: is missing")
        if section != "training":
            _check_name(section, options)
    training = read_training(study.training, strict=True)
    for place, judgement in enumerate((study.outcomes, *study.outcomes.secondary)):
        _check_outcomes(judgement, training, f"outcomes.secondary.{place - 1}" if place else "outcomes")
    _check_pretraining(training)
    own_methods = any(arm.method not in METHODS for arm in study.arms)
    for key, space in {"space": study.space, **{f"search.spaces.{a}": s for a, s in study.spaces.items()}}.items():
        check_hyperparameters(space.options, own_methods, section=key)
    _check_task_and_model(study, check_data)
    for arm in study.arms:
        _check_arm(arm, study.space_of(arm.label))
    return replace(study, training=written(training))


def written(training: TrainingOptions) -> dict[str, Any]:
    """Return training options as a study keeps them."""
    return _without_defaults(training.model_dump(mode="json"))


def settle(study: Study, registered: Mapping[str, Any] | None, here: bool) -> Study:
    """Return the study with precisions that are no longer `auto`; raises if this machine would emulate one."""
    gpu = study.resources.gpu != 0 and study.training["device"] != "cpu"
    stored = None if registered is None else registered.get("training", {})
    known = {} if registered is None else {arm["label"]: arm for arm in registered.get("arms", [])}
    settled = replace(
        study,
        training=_without_defaults(settled_training(study.training, stored, gpu)),
        arms=tuple(
            replace(
                arm,
                training=settled_training(
                    arm.training, known[arm.label].get("training", {}) if arm.label in known else None, gpu
                ),
            )
            for arm in study.arms
        ),
    )
    for arm in settled.arms if here else ():
        key = "training" if "precision" not in arm.training else f"the arm {arm.label!r}: training"
        refuse_emulation(settled.training_of(arm.label).get("precision", "float32"), gpu, f"{key}.precision")
    return settled


def _without_defaults(training: Mapping[str, Any]) -> dict[str, Any]:
    """Omit later options at their defaults, so that studies registered before they existed keep their hash."""
    return {key: value for key, value in training.items() if key not in LATER or value != LATER[key]}


def _check_name(section: str, options: Mapping[str, Any]) -> None:
    """Raise unless the name of a task or model is text; whether it exists is checked later."""
    if "name" not in options:
        near = get_close_matches("name", options, n=1)
        hint = f"; is {near[0]!r} a typo?" if near else ""
        raise StudyFileError(f"{section}.name: is missing{hint}")
    if not isinstance(options["name"], str):
        raise StudyFileError(f"{section}.name: must be text, found {shown(options['name'])}")


def _check_pretraining(training: TrainingOptions) -> None:
    if training.pretrain_epochs >= training.epochs:
        raise StudyFileError(
            f"training.pretrain_epochs: must be less than training.epochs ({training.epochs}), "
            f"found {training.pretrain_epochs}: pre-training epochs never count"
        )


def _check_outcomes(outcomes: Judgement, training: TrainingOptions, section: str) -> None:
    of_training_set = outcomes.metric.startswith("training_") and outcomes.metric in METRICS
    if of_training_set and training.last_epoch_samples is None:
        raise StudyFileError(
            f"{section}.metric: {outcomes.metric} is measured only with training.last_epoch_samples, found none"
        )
    if of_training_set and outcomes.epoch != "last":
        raise StudyFileError(f"{section}.epoch: must be last, where {outcomes.metric} is measured, found best")
    if of_training_set and outcomes.learned_nothing and outcomes.learned_nothing.no_better_than_untrained is not None:
        raise StudyFileError(
            f"{section}.learned_nothing.no_better_than_untrained: needs a metric of the validation set, "
            f"found {outcomes.metric}"
        )
    if outcomes.records_start and outcomes.metric.startswith(("train_", "training_")):
        raise StudyFileError(
            f"{section}.learned_nothing.no_better_than_start: needs a metric of the validation set, "
            f"found {outcomes.metric}"
        )
    low, high = find_metric(outcomes.metric).range or (-math.inf, math.inf)
    interval = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"at least {low:g}"
    for key in ("learned_nothing", "good"):
        thresholds = getattr(outcomes, key)
        for name in ("below", "above", "at_least", "at_most"):
            value = getattr(thresholds, name, None)
            if value is not None and not low <= value <= high:
                raise StudyFileError(
                    f"{section}.{key}.{name}: must be {interval} like {outcomes.metric}, found {shown(value)}"
                )


def _check_task_and_model(study: Study, check_data: bool) -> None:
    if study.model["name"] not in MODELS:
        raise ModelError(f"model.name: {unknown_name('model', study.model['name'], MODELS)}")
    if not is_task(study.task["name"]):
        raise TaskError(f"task.name: {unknown_name('task', study.task['name'], task_names())}")
    size = None
    try:
        check_task(study.task, needs_data=check_data)
        # The image size of prepared data is only known where the data is; without it the model is checked partially.
        with contextlib.suppress(*() if check_data else (TaskError,)):
            size = task_image_size(study.task)
    except TaskError as error:
        raise _under("task", error) from None
    models = {f"search.models.{arm.label}": study.model_of(arm.label) for arm in study.arms if study.search}
    for key, model in {"model": study.model, **models}.items():
        try:
            check_model(model, size)
        except ModelError as error:
            raise _under(key, error) from None


def _check_arm(arm: Arm, space: Space) -> None:
    try:
        read_method_options(arm.method, arm.options)
        for name in find_method(arm.method).needs:
            if name not in always_given(space.options) and arm.options.get(name) is None:
                raise MethodError(f"the arm {arm.label!r} needs {name!r} in the search space, or as an option")
    except MethodError as error:
        raise _under("arms", error) from None


def _under(section: str, error: RobustnessError) -> RobustnessError:
    """Return the error with the section of the study file in front, unless its message already starts with it."""
    line = str(error)
    return type(error)(line if line.startswith((f"{section}:", f"{section}.")) else f"{section}: {line}")
