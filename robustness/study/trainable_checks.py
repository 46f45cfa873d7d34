"""A trainable checks its sections of a study: it sees one task and one set of sections at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from robustness.errors import RobustnessError
from robustness.study.arms import Arm
from robustness.study.study import Study

Check: TypeAlias = Callable[[Study, bool], Study]


def checked_by(check: Check, study: Study, check_data: bool) -> Study:
    """Return the study as its trainable fills it in; raises a one-line `RobustnessError` if it is invalid."""
    if not study.tasks:
        return _checked_arms(check, study, check_data)
    filled = []
    for position, task in enumerate(study.tasks):
        try:
            filled.append(_checked_arms(check, replace(study, task=task.options, tasks=()), check_data))
        except RobustnessError as error:
            line = str(error)
            own = f"tasks.{position}{line.removeprefix('task')}" if line.startswith(("task.", "task:")) else line
            raise type(error)(own) from None
    tasks = tuple(replace(task, options=each.task) for task, each in zip(study.tasks, filled, strict=True))
    return replace(filled[0], task={}, tasks=tasks)


def _checked_arms(check: Check, study: Study, check_data: bool) -> Study:
    """Check the study once or, where arms have sections for themselves, once as each of them sees it."""
    if not any(arm.has_own_sections for arm in study.arms):
        return check(study, check_data)
    filled = []
    for arm in study.arms:
        try:
            filled.append(check(_as_seen_by(arm, study), check_data))
        except RobustnessError as error:
            raise type(error)(f"the arm {arm.label!r}: {error}") from None
    # Defaults that all arms share are filled in; an arm's own values stay with the arm.
    place = next((place for place, arm in enumerate(study.arms) if not arm.training), 0)
    own, usual = study.arms[place].training, filled[place]
    training = {name: value for name, value in usual.training.items() if name not in own}
    return replace(study, training={**training, **study.training}, task=usual.task)


def _as_seen_by(arm: Arm, study: Study) -> Study:
    return replace(
        study,
        arms=(replace(arm, space=None, training={}, model={}),),
        space=study.space_of(arm.label),
        spaces={},
        model=study.model_of(arm.label),
        training=study.training_of(arm.label),
    )
