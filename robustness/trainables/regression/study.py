"""Checks of a regression study, before anything runs and without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from robustness.errors import MethodError, SearchSpaceError, StudyFileError, TaskError, unknown_name
from robustness.methods import find_method, read_method_options
from robustness.space.options import Branches, Choices, Constant, Options, Scalar
from robustness.study.study import Study
from robustness.trainables.hyperparameters import HYPERPARAMETERS, Kind, always_given, check_hyperparameters
from robustness.trainables.regression.data_sets import DATA_SETS, data_file, find_data_set
from robustness.trainables.regression.options import read_model, read_task, read_training

ARMS = ("mfvi", "mfvi_noise_matched", "mfvi_scaled", "mfvi_truncated", "radial")
"""The bundled methods that regression can train: a single network with a scale for each weight."""

METRICS = ("validation_gain", "validation_log_likelihood")
"""The measures that an epoch can be judged by: higher is better, and test rows are not involved."""


def _is_noise_scale(value: Scalar) -> bool:
    return value == "learned" or HYPERPARAMETERS["learning_rate"].fits(value)


KNOWN = {
    name: HYPERPARAMETERS[name]
    for name in ("learning_rate", "batch_size", "variational_samples", "initial_rho", "threshold")
} | {
    "optimizer": Kind("adam", lambda value: value == "adam"),
    "data_set": Kind(f"one of {', '.join(DATA_SETS)}", lambda value: value in DATA_SETS),
    "noise_scale": Kind("learned, or a number above 0", _is_noise_scale),
}
"""The hyperparameters, documented in `robustness.trainables.regression.options.Hyperparameters`."""


def check(study: Study, check_data: bool = True) -> Study:
    """Return the study with the defaults of its task, model and training filled in; reads no data."""
    task, model, training = read_task(study.task), read_model(study.model), read_training(study.training)
    names = data_sets(study.space.options)
    own_methods = any(":" in arm.method for arm in study.arms)
    needed = ("optimizer", "learning_rate", "batch_size")
    check_hyperparameters(study.space.options, own_methods, KNOWN, needed)
    if study.sampling.vary:
        raise StudyFileError("sampling.vary: is not for regression, whose replicates are the splits of a data set")
    for name in names:
        splits = find_data_set(name).splits
        if study.sampling.replicates > splits:
            raise StudyFileError(
                f"sampling.replicates: must be at most {splits}, the number of splits of data set {name!r}, "
                f"found {study.sampling.replicates}"
            )
        replicates = 1 if study.winners is None else study.winners.replicates_of(name)
        if replicates > splits:
            raise StudyFileError(
                f"winners: data set {name!r} has {splits} splits, found {replicates} replicates: "
                f"set `by: data_set` and `fewer: {{{name}: {splits}}}`"
            )
        if check_data:
            data_file(task.folder, name)
    for arm in study.arms:
        check_arm(arm.method, arm.options, always_given(study.space.options))
    return replace(
        study,
        task=task.model_dump(mode="json"),
        model=model.model_dump(mode="json"),
        training=training.model_dump(mode="json"),
    )


def data_sets(options: Options) -> tuple[str, ...]:
    """Return the data sets in a space; raises if there are none or one does not exist."""
    option = dict(options.items).get("data_set")
    values: tuple[Scalar, ...]
    match option:
        case None:
            raise SearchSpaceError("space.data_set: is missing: every configuration needs it")
        case Constant(value=value):
            values = (value,)
        case Choices(values=choices):
            values = choices
        case Branches(branches=branches):
            values = tuple(name for name, _ in branches)
        case _:
            raise SearchSpaceError("space.data_set: must be a name or a list of names, found a range of numbers")
    for value in values:
        try:
            find_data_set(value)
        except TaskError as error:
            raise SearchSpaceError(f"space.data_set: {error}") from None
    return tuple(map(str, values))


def check_arm(method: str, options: Mapping[str, Any], hyperparameters: set[str]) -> None:
    """Raise MethodError unless regression can train the method with these options and hyperparameters."""
    if ":" not in method and method not in ARMS:
        raise MethodError(f"arms: {unknown_name('regression arm', method, ARMS)}")
    read = read_method_options(method, options)
    if getattr(read, "pretrain_epochs", None):
        raise MethodError(f"arms: {method}: pretrain_epochs: regression has no pre-training")
    if getattr(read, "prior", "gaussian") != "gaussian":
        raise MethodError(f"arms: {method}: prior: regression supports only the Gaussian prior, found {read.prior!r}")
    for name in find_method(method).needs:
        if name not in hyperparameters and getattr(read, name, None) is None:
            raise MethodError(f"arms: {method}: needs {name!r} in the search space, or as an option")
