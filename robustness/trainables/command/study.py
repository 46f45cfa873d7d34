"""Checks of a command study before anything runs: placeholders, the pattern, and what the command depends on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from robustness.errors import StudyFileError, shown, unknown_name
from robustness.space.options import Branches, Constant, Options
from robustness.streams import Streams
from robustness.study.arms import Arm
from robustness.study.study import Study
from robustness.trainables.command.options import CommandOptions
from robustness.trainables.command.words import placeholders
from robustness.trainables.hyperparameters import always_given
from robustness.trial import Trial
from robustness.validation import read_options

FOLDER = "folder"
OF_TRIAL = ("arm", "method", "seed", "configuration", "replicate", FOLDER)
"""Placeholders of every command; `seed` is an integer that is the same for all arms of a pair."""


def check(study: Study, check_data: bool) -> Study:
    """Return the study with its command split into words; raises a one-line StudyFileError if it is invalid."""
    if "command" not in study.training:
        raise StudyFileError("command: is missing: the program to run, such as python train.py --lr {learning_rate}")
    options = _read(study)
    _check_metrics(options, study)
    used = placeholders(options.command)
    for arm in study.arms:
        _check_placeholders(used, arm, study, options)
    _check_arm_matters(used, study)
    program = options.command[0]
    if check_data and not placeholders([program]) and shutil.which(program) is None:
        raise StudyFileError(f"command: there is no program {shown(program)} on this machine")
    return replace(study, training=options.model_dump(mode="json", exclude_none=True) | options.further)


def _read(study: Study) -> CommandOptions:
    try:
        return read_options(CommandOptions, study.training, "training", StudyFileError)
    except StudyFileError as error:
        # They are keys of the study file itself.
        own = re.match(r"training\.((command|metrics)\b.*)", str(error), re.DOTALL)
        if own is None:
            raise
        raise StudyFileError(own.group(1)) from None


def values_of(trial: Trial, folder: str) -> dict[str, Any]:
    """Return the value of each placeholder in the command of a trial; hyperparameters come first."""
    task = trial.task.get("name")
    return {
        **({} if task is None else {"task": task}),
        **{name: value for name, value in trial.training.items() if name not in ("command", "metrics")},
        "arm": trial.arm,
        "method": trial.method,
        "seed": Streams.of(trial).external_seed(),
        "configuration": trial.configuration,
        "replicate": trial.replicate,
        FOLDER: folder,
        **trial.method_options,
        **trial.hyperparameters,
    }


def _check_metrics(options: CommandOptions, study: Study) -> None:
    source, metric = options.metrics, study.outcomes.metric
    groups = {} if source.pattern is None else re.compile(source.pattern).groupindex
    if source.pattern is not None and metric not in groups:
        raise StudyFileError(
            f"metrics.pattern: has no group for the study's metric: add (?P<{metric}>...), or set outcomes.metric to "
            f"one of {', '.join(groups)}"
        )
    if source.file is not None and not source.file.startswith("/") and FOLDER not in placeholders(options.command):
        raise StudyFileError(
            f"metrics.file: {shown(source.file)} is in the folder of the run, which the command has to be told: pass "
            "{folder} to it"
        )


def _check_placeholders(used: list[str], arm: Arm, study: Study, options: CommandOptions) -> None:
    space = study.space_of(arm.label)
    names = set(space.display_order)
    others = {*OF_TRIAL, *options.further, *arm.options, *(["task"] if study.task.get("name") else [])}
    always = always_given(space.options)
    for name in used:
        if name not in names | others:
            line = unknown_name("placeholder", name, names | others)
            raise StudyFileError(f"command: nothing fills {{{name}}}: {line}")
        if name not in always | others and f"{{{name}}}" in options.command:
            raise StudyFileError(
                f"command: {{{name}}} is a hyperparameter of some choices of the search space only; write "
                f"--{name}={{{name}}}, which is left out where it has no value"
            )
    for name in _varied(space.options):
        if name not in used:
            raise StudyFileError(
                f"command: the hyperparameter {name!r} is drawn but not passed to the command: add {{{name}}}, or take "
                "it out of the search space"
            )


def _check_arm_matters(used: list[str], study: Study) -> None:
    own: set[str] = {name for arm in study.arms for name in arm.options}
    if len(study.arms) > 1 and not own.union(("arm", "method")).intersection(used):
        raise StudyFileError("command: is the same for every arm: pass {arm} to it, or a key that arms set differently")


def _varied(options: Options) -> list[str]:
    """Return the names of options that differ between configurations."""
    found: list[str] = []
    for name, option in options.items:
        if not isinstance(option, Constant):
            found.append(name)
        if isinstance(option, Branches):
            found += [inner for _, below in option.branches for inner in _varied(below)]
    return list(dict.fromkeys(found))


def trial_options(training: Mapping[str, Any]) -> CommandOptions:
    """Return the options of a trial, which were checked with its study."""
    return CommandOptions.model_validate(dict(training))
