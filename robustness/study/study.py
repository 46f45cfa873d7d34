"""Studies: read from a file, checked in full, and from then on a frozen record.

study = load_study("quickstart", ["sampling.configurations=20"])
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from robustness.errors import (
    MethodError,
    ModelError,
    RobustnessError,
    SearchSpaceError,
    StudyFileError,
    TaskError,
    unknown_name,
)
from robustness.metrics import METRICS
from robustness.space.space import Space, read_space
from robustness.study.arms import Arm, check_label, read_arms
from robustness.study.bundled import find_space, find_study
from robustness.study.changes import NOT_DECISIVE, differences, extends
from robustness.study.overrides import override
from robustness.study.search import PRUNING_PLACE, check_search, read_spaces, with_budget
from robustness.study.sections import (
    Finals,
    Outcomes,
    Reference,
    Resources,
    Sampling,
    Search,
    Stop,
    StudyFile,
    Winners,
)
from robustness.study.validation import first_fault
from robustness.study.yaml_reader import read_file, shown
from robustness.sweep.winners import check_winners
from robustness.trial import BUILT_IN_TRAINABLE, MOVED, find_trainable

if TYPE_CHECKING:
    from robustness.trainables.classification.options import TrainingOptions

__all__ = ["Arm", "Study", "differences", "extends", "load_study", "make_importable", "make_study"]


@dataclass(frozen=True)
class Study:
    """A study that was read and checked."""

    name: str
    description: str
    trainable: str
    task: Mapping[str, Any]
    model: Mapping[str, Any]
    arms: tuple[Arm, ...]
    space: Space
    sampling: Sampling
    training: Mapping[str, Any]
    """For the built-in trainable the options of `TrainingOptions`, defaults filled in."""
    outcomes: Outcomes
    resources: Resources
    reference: Reference | None
    stop: Stop | None
    search: Search | None = None
    """How `robustness optimize` searches; None for a study that is swept."""
    finals: Finals | None = None
    winners: Winners | None = None
    """Which configurations a sweep trains on further replicates, once all were compared on the first."""
    spaces: Mapping[str, Space] = field(default_factory=dict)
    """The spaces of arms that search another one than `space`."""
    folder: Path | None = None
    """Where the study file lies: a user's own modules beside it can be imported. No part of the document."""
    compare_with: str | None = None
    """The arm with which each other is compared; None compares every two."""

    @property
    def seed(self) -> int:
        return self.sampling.seed

    @property
    def built_in(self) -> bool:
        """Whether the trials are trained by the project itself, not by a user's own trainable."""
        return self.trainable == BUILT_IN_TRAINABLE

    def space_of(self, arm: str) -> Space:
        """The space from which an arm's configurations come."""
        return self.spaces.get(arm, self.space)

    def model_of(self, arm: str) -> Mapping[str, Any]:
        """The network of an arm."""
        return {**self.model, **(self.search.models.get(arm, {}) if self.search else {})}

    def document(self) -> dict[str, Any]:
        """The whole study as plain values, defaults filled in: what the store keeps and compares."""
        document = {
            "name": self.name,
            "description": self.description,
            "trainable": self.trainable,
            "task": _plain(self.task),
            "model": _plain(self.model),
            "arms": [{"label": a.label, "method": a.method, "options": _plain(a.options)} for a in self.arms],
            "space": _plain(self.space.data),
            "sampling": self.sampling.model_dump(mode="json"),
            "training": _plain(self.training),
            "outcomes": self.outcomes.model_dump(mode="json"),
            "resources": self.resources.model_dump(mode="json"),
            "reference": None if self.reference is None else self.reference.model_dump(mode="json"),
            "stop": None if self.stop is None else self.stop.model_dump(mode="json"),
        }
        if self.search is not None:
            spaces = {arm: _plain(space.data) for arm, space in self.spaces.items()}
            # Left out where it is off, so that searches begun before there was pruning are still the same study.
            left_out = {"pruning"} if self.search.pruning is None else None
            document["search"] = self.search.model_dump(mode="json", exclude=left_out) | {"spaces": spaces}
        if self.finals is not None:
            document["finals"] = self.finals.model_dump(mode="json")
        if self.compare_with is not None:
            document["compare_with"] = self.compare_with
        if self.winners is not None:
            document["winners"] = self.winners.model_dump(mode="json")
        return document

    @property
    def hash(self) -> str:
        """A fingerprint of everything that decides results."""
        decides = {key: value for key, value in self.document().items() if key not in NOT_DECISIVE}
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


def load_study(name_or_path: str, overrides: Sequence[str] = (), check_data: bool = True) -> Study:
    """The study in a file or of a bundled name, with `key=value` overrides; one line in a RobustnessError if it is bad.

    `check_data=False` does not ask whether the task's data is at hand.
    """
    path = find_study(name_or_path)
    data = read_file(path, StudyFileError)
    for text in overrides:
        override(data, text, lambda name: read_file(find_space(name, path.parent), SearchSpaceError))
    return make_study(data, str(path), path.parent, check_data)


def make_study(data: Mapping[str, Any], source: str, folder: Path | None = None, check_data: bool = True) -> Study:
    """The study that plain data describes; `source` begins every error's line."""
    data = with_budget(data)
    if "pruning" in data:
        raise StudyFileError(f"{source}: pruning: {PRUNING_PLACE}")
    try:
        file = StudyFile.model_validate(data)
    except ValidationError as error:
        raise StudyFileError(f"{source}: {first_fault(error, StudyFile, data)}") from None
    try:
        check_label(file.name, "name")
        space = _read_space(file.space, source, folder)
        study = Study(
            name=file.name,
            description=file.description,
            trainable=file.trainable,
            task=file.task or {},
            model=file.model or {},
            arms=read_arms(file.arms),
            space=space,
            sampling=file.sampling,
            training=file.training or {},
            outcomes=file.outcomes,
            resources=file.resources,
            reference=file.reference,
            stop=file.stop,
            search=file.search,
            finals=file.finals,
            winners=file.winners,
            folder=folder,
            compare_with=file.compare_with,
        )
        _check_compared(study)
        if study.search is not None:
            study = replace(study, spaces=read_spaces(study.search, lambda entry: _read_space(entry, source, folder)))
        check_search(study)
        check_winners(study)
        make_importable(study)
        return _checked_built_in(study, data, check_data) if study.built_in else _checked_own(study, check_data)
    except RobustnessError as error:
        line = str(error)
        raise type(error)(line if line.startswith(source) else f"{source}: {line}") from None


def make_importable(study: Study) -> None:
    """Let this process import modules that lie beside the study file, as a study's own code does."""
    if study.folder is None:
        return
    from robustness.tasks import TASKS

    own = not study.built_in or study.task.get("name") not in TASKS or any(":" in arm.method for arm in study.arms)
    folder = str(study.folder.resolve())
    if own and folder not in sys.path:
        sys.path.append(folder)


def _read_space(entry: str | Mapping[str, Any], source: str, folder: Path | None) -> Space:
    if not isinstance(entry, str):
        return read_space(entry, f"{source}: space")
    try:
        path = find_space(entry, folder or Path())
    except SearchSpaceError as error:
        raise SearchSpaceError(f"{source}: space: {error}") from None
    return read_space(read_file(path, SearchSpaceError), str(path))


def _checked_own(study: Study, check_data: bool) -> Study:
    """A study with a trainable of the user's own, which must be there; what it is given is its own affair."""
    if study.outcomes.learned_nothing.below is None:
        raise StudyFileError(
            "outcomes.learned_nothing: what is better than chance is known of the built-in trainable alone; "
            "give {below: number}"
        )
    try:
        find_trainable(study.trainable)
    except RobustnessError:
        raise
    except Exception as error:
        # The user's module runs when it is imported, and anything may go wrong in it.
        raise StudyFileError(f"trainable: importing {study.trainable!r} fails: {error!r}") from error
    module = sys.modules[MOVED.get(study.trainable, study.trainable).partition(":")[0]]
    # The project's other trainables check their studies themselves, and may fill in defaults.
    check = None
    if module.__name__.startswith("robustness."):
        check = getattr(module, "check", None)
        _check_device(study.training.get("device"), study)
    checked: Study | None = None if check is None else check(study, check_data)
    return checked or study


def _checked_built_in(study: Study, data: Mapping[str, Any], check_data: bool) -> Study:
    """The study with all training options filled in; raises if a section is missing or does not fit the trainable."""
    from robustness.trainables.hyperparameters import check_hyperparameters

    for key in ("task", "model", "training"):
        if data.get(key) is None:
            raise StudyFileError(f"{key}: is missing")
        if key != "training":
            _check_name(key, data[key])
    _check_outcomes(study.outcomes)
    training = _training(study.training)
    _check_device(training.device, study)
    own = any(":" in arm.method for arm in study.arms)
    for key, space in {"space": study.space, **{f"search.spaces.{a}": s for a, s in study.spaces.items()}}.items():
        try:
            check_hyperparameters(space.options, own)
        except SearchSpaceError as error:
            raise SearchSpaceError(f"{key}.{error}") from None
    _check_task_and_model(study, check_data)
    for arm in study.arms:
        _check_arm(arm, study.space_of(arm.label))
    # Left out where it is off, so that studies begun before there was this option are still the same.
    left_out = None if training.mixed_precision else {"mixed_precision"}
    return replace(study, training=training.model_dump(mode="json", exclude=left_out))


def _check_device(device: object, study: Study) -> None:
    """Raise if the project's own training is to use a GPU that no trial is given."""
    if str(device).startswith("cuda") and study.resources.gpu == 0:
        raise StudyFileError(
            f"training.device: is {shown(device)}, but a trial sees only the GPUs that it is given, and resources.gpu "
            "is 0: set that to 1, or to a share such as 0.5"
        )


def _check_name(section: str, options: Mapping[str, Any]) -> None:
    """Raise unless a task or model has a name that is text; which names there are is their own affair."""
    if "name" not in options:
        near = get_close_matches("name", options, n=1)
        hint = f"; is {near[0]!r} meant to be it?" if near else ""
        raise StudyFileError(f"{section}.name: is missing{hint}")
    if not isinstance(options["name"], str):
        raise StudyFileError(f"{section}.name: must be text, found {shown(options['name'])}")


def _training(data: Mapping[str, Any]) -> TrainingOptions:
    from robustness.trainables.classification.options import TrainingOptions

    try:
        options = TrainingOptions.model_validate(dict(data), strict=True)
    except ValidationError as error:
        raise StudyFileError(f"training.{first_fault(error, TrainingOptions, data)}") from None
    if options.pretrain_epochs >= options.epochs:
        raise StudyFileError(
            f"training.pretrain_epochs: must be less than training.epochs ({options.epochs}), "
            f"found {options.pretrain_epochs}: pre-training epochs never count"
        )
    return options


def _check_outcomes(outcomes: Outcomes) -> None:
    if outcomes.metric not in METRICS:
        raise StudyFileError(f"outcomes.metric: {unknown_name('metric', outcomes.metric, METRICS)}")
    for key, value in (
        ("learned_nothing.below", outcomes.learned_nothing.below),
        ("good.at_least", outcomes.good.at_least),
    ):
        if value is not None and not 0 <= value <= 1:
            raise StudyFileError(f"outcomes.{key}: {outcomes.metric} is between 0 and 1, found {shown(value)}")


def _check_task_and_model(study: Study, check_data: bool) -> None:
    from robustness.tasks import TASKS, check_task, is_task, task_image_size
    from robustness.trainables.models import MODELS, check_model

    if study.model["name"] not in MODELS:
        raise ModelError(f"model.name: {unknown_name('model', study.model['name'], MODELS)}")
    if not is_task(study.task["name"]):
        raise TaskError(f"task.name: {unknown_name('task', study.task['name'], TASKS)}")
    size = None
    try:
        check_task(study.task, needs_data=check_data)
        # A prepared folder knows its size; without it the model is checked as far as it can be.
        with contextlib.suppress(*() if check_data else (TaskError,)):
            size = task_image_size(study.task)
    except TaskError as error:
        raise _under("task", error) from None
    for key, model in {
        "model": study.model,
        **{f"search.models.{arm.label}": study.model_of(arm.label) for arm in study.arms if study.search},
    }.items():
        try:
            check_model(model, size)
        except ModelError as error:
            raise _under(key, error) from None


def _check_compared(study: Study) -> None:
    labels = [arm.label for arm in study.arms]
    if study.compare_with is not None and study.compare_with not in labels:
        raise StudyFileError(f"compare_with: {unknown_name('arm', study.compare_with, labels)}")


def _check_arm(arm: Arm, space: Space) -> None:
    from robustness.methods import check_method, find_method
    from robustness.trainables.hyperparameters import always_given

    try:
        check_method(arm.method, arm.options)
        for name in find_method(arm.method).needs:
            if name not in always_given(space.options) and arm.options.get(name) is None:
                raise MethodError(f"the arm {arm.label!r} needs {name!r} in the search space, or as an option")
    except MethodError as error:
        raise _under("arms", error) from None


def _under(section: str, error: RobustnessError) -> RobustnessError:
    """The same error with the section of the study file in front, unless its words begin with that."""
    line = str(error)
    return type(error)(line if line.startswith((f"{section}:", f"{section}.")) else f"{section}: {line}")


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of plain values, as JSON would give them back."""
    copy: dict[str, Any] = json.loads(json.dumps(dict(values), allow_nan=False))
    return copy
