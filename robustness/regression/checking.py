"""Whether a study fits the regression trainable, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robustness.errors import MethodError, SearchSpaceError, StudyFileError, TaskError, one_of
from robustness.hyperparameters import always_given
from robustness.methods import read_method_options
from robustness.regression.data_sets import data_file, find_data_set
from robustness.regression.options import Hyperparameters, read_model, read_task, read_training
from robustness.space_options import Choices, Constant, Option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from robustness.study import Study

ARMS = ("mfvi", "mfvi_noise_matched", "mfvi_scaled", "mfvi_truncated", "radial")
"""The bundled methods that regression can train: one network each, with a scale for each weight."""

METRICS = ("validation_gain", "validation_log_likelihood")
"""The measures that can judge an epoch: higher is better, and no test row has a say."""


def check(study: Study, check_data: bool = True) -> None:
    """Raise one line unless the study's task, model, training, arms, space and metric fit; reads no data."""
    task = read_task(study.task)
    read_model(study.model)
    read_training(study.training)
    if study.outcomes.metric not in METRICS:
        raise StudyFileError(f"outcomes.metric: {one_of('metric', study.outcomes.metric, METRICS)}")
    given = always_given(study.space.options)
    for name in ("data_set", "learning_rate", "batch_size"):
        if name not in given:
            raise SearchSpaceError(f"space.{name}: is missing: every configuration needs it")
    for name, option in study.space.options.items:
        if name not in Hyperparameters.model_fields:
            raise SearchSpaceError(f"space.{name}: {one_of('hyperparameter', name, Hyperparameters.model_fields)}")
        if name == "data_set":
            for value in _values(option):
                known = find_data_set(value)
                if study.sampling.replicates > known.splits:
                    raise TaskError(
                        f"sampling.replicates: must be at most {known.splits}, the splits of data set {value!r}, "
                        f"found {study.sampling.replicates}"
                    )
                if check_data:
                    data_file(task.folder, str(value))
    for arm in study.arms:
        check_arm(arm.method, arm.options, "initial_rho" in given)


def check_arm(method: str, options: Mapping[str, Any], has_rho: bool) -> None:
    """Raise MethodError unless regression can train the method with these options."""
    if ":" not in method and method not in ARMS:
        raise MethodError(f"arms: {one_of('arm of a regression', method, ARMS)}")
    read = read_method_options(method, options)
    if getattr(read, "pretrain_epochs", None):
        raise MethodError(f"arms: {method}: pretrain_epochs: regression has no pre-training")
    if getattr(read, "prior", "gaussian") != "gaussian":
        raise MethodError(f"arms: {method}: prior: regression knows the Gaussian prior alone, found {read.prior!r}")
    if not has_rho and getattr(read, "initial_rho", 0.0) is None:
        raise MethodError(f"arms: {method}: needs 'initial_rho' in the search space, or as an option")


def _values(option: Option) -> tuple[object, ...]:
    match option:
        case Constant(value=value):
            return (value,)
        case Choices(values=values):
            return values
    raise SearchSpaceError("space.data_set: must be a name or a list of names")
