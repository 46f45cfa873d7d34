"""Load a study: its file or bundled name, `--set` overrides, its search space, and every check.

study = load_study("quickstart", ["sampling.configurations=20"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from robustness.errors import RobustnessError, SearchSpaceError, StudyFileError, shown
from robustness.plugins import make_importable, trainable_name
from robustness.space.space import EMPTY, Space, read_space
from robustness.study.arms import check_label, read_arms
from robustness.study.bundled import find_space, find_study
from robustness.study.checks import PRUNING_PLACE, check_study, has_own_code
from robustness.study.sections import Search, StudyFile
from robustness.study.study import Study
from robustness.study.tasks import read_tasks
from robustness.study.yaml_reader import read_file, read_text
from robustness.validation import first_fault

COMMAND = "command"
"""The trainable of a study with a `command`."""


def load_study(name_or_path: str, overrides: Sequence[str] = (), check_data: bool = True) -> Study:
    """Return the study in a file or with a bundled name, after `key=value` overrides.

    `check_data=False` accepts a task whose data is not on this machine. Raises a one-line `RobustnessError` if the
    study is invalid.
    """
    path = find_study(name_or_path)
    data = read_file(path, StudyFileError)
    for text in overrides:
        override(data, text, lambda name: read_file(find_space(name, path.parent), SearchSpaceError))
    return make_study(data, str(path), path.parent, check_data)


def make_study(data: Mapping[str, Any], source: str, folder: Path | None = None, check_data: bool = True) -> Study:
    """Return the study that plain data describes; `source` starts every error message."""
    data = _with_budget(data)
    if "pruning" in data:
        raise StudyFileError(f"{source}: pruning: {PRUNING_PLACE}")
    try:
        file = StudyFile.model_validate(data)
    except ValidationError as error:
        raise StudyFileError(f"{source}: {first_fault(error, StudyFile, data)}") from None
    try:
        check_label(file.name, "name")
        study = _study_of(file, source, folder)
        if folder is not None and has_own_code(study):
            make_importable(folder)
        return check_study(study, check_data)
    except RobustnessError as error:
        line = str(error)
        raise type(error)(line if line.startswith(source) else f"{source}: {line}") from None


def override(data: dict[str, Any], text: str, find_space: Callable[[str], Mapping[str, Any]]) -> None:
    """Apply one override `a.b=VALUE` to a study's data, where VALUE is YAML.

    If an option of a named space is overridden, the name is first replaced by the space itself, from `find_space`.
    """
    path, equals, value_text = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise StudyFileError(f"--set {shown(text)}: must be key=value, such as training.epochs=5")
    value = read_text(value_text, f"--set {path.strip()}", StudyFileError)
    if keys[0] == "space" and len(keys) > 1 and isinstance(data.get("space"), str):
        data["space"] = dict(find_space(data["space"]))
    place = data
    for depth, key in enumerate(keys[:-1], start=1):
        if place.get(key) is None:
            place[key] = {}
        if not isinstance(place[key], dict):
            parent = ".".join(keys[:depth])
            raise StudyFileError(f"--set {path}: {parent} is {shown(place[key])}, which has no keys")
        place = place[key]
    place[keys[-1]] = value


def _with_budget(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a study's data with `search.runs` as its number of configurations, unless that is set."""
    filled = dict(data)
    search, sampling = filled.get("search"), filled.get("sampling", {})
    if isinstance(search, Mapping) and isinstance(sampling, Mapping):
        runs = search.get("runs", Search.model_fields["runs"].default)
        # An invalid number of runs is reported under its own key.
        configurations = runs if isinstance(runs, int) and runs >= 1 else 1
        filled["sampling"] = {"configurations": configurations, **sampling}
    return filled


def _study_of(file: StudyFile, source: str, folder: Path | None) -> Study:
    trainable, training = _training_of(file)
    own_spaces = file.search.spaces if file.search else {}
    if file.task is not None and file.tasks is not None:
        raise StudyFileError("tasks: is beside task; list every task under tasks")
    shared = _read_space(file.space, source, folder) if file.space else EMPTY
    return Study(
        name=file.name,
        description=file.description,
        trainable=trainable_name(trainable),
        task=file.task or {},
        model=file.model or {},
        arms=read_arms(file.arms, lambda entry, place: _read_space(entry, source, folder, place), shared),
        space=shared,
        sampling=file.sampling,
        training=training,
        outcomes=file.outcomes,
        resources=file.resources,
        reference=file.reference,
        stop=file.stop,
        search=file.search,
        finals=file.finals,
        winners=file.winners,
        spaces={a: _read_space(entry, source, folder, f"search.spaces.{a}") for a, entry in own_spaces.items()},
        folder=folder,
        compare_with=file.compare_with,
        contrasts=file.contrasts,
        default=file.default,
        tasks=read_tasks(file.tasks or ()),
    )


def _training_of(file: StudyFile) -> tuple[str, Mapping[str, Any]]:
    """Return the trainable of a study and its options, among which are a command and its metrics."""
    training = file.training or {}
    if file.command is None:
        if file.metrics is not None:
            raise StudyFileError("metrics: is for a study with `command`; the measures of others come from their code")
        return file.trainable, training
    if "trainable" in file.model_fields_set and file.trainable != COMMAND:
        raise StudyFileError(f"command: cannot be combined with trainable: {file.trainable}; remove one of them")
    for key in ("command", "metrics"):
        if key in training:
            raise StudyFileError(f"training.{key}: is set by the key `{key}` of the study")
    metrics = {} if file.metrics is None else {"metrics": file.metrics}
    return COMMAND, {**training, "command": file.command, **metrics}


def _read_space(entry: str | Mapping[str, Any], source: str, folder: Path | None, key: str = "space") -> Space:
    if not isinstance(entry, str):
        return read_space(entry, f"{source}: {key}")
    try:
        path = find_space(entry, folder or Path())
    except SearchSpaceError as error:
        raise SearchSpaceError(f"{source}: {key}: {error}") from None
    return read_space(read_file(path, SearchSpaceError), str(path))
