"""Checks across the sections of a study; each trainable checks its own sections."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from robustness.errors import StudyFileError, shown, unknown_name
from robustness.metrics import OBJECTIVES
from robustness.plugins import find_trainable
from robustness.space.membership import configuration_in
from robustness.space.options import Constant, Range
from robustness.study.arms import check_label
from robustness.study.study import Study
from robustness.study.trainable_checks import checked_by
from robustness.tasks import is_registered

PRUNING_PLACE = "belongs under `search`; a sweep compares pairs of trials, which is only fair if both run to the end"


def check_study(study: Study, check_data: bool) -> Study:
    """Return the study with its trainable's defaults filled in; raises a one-line `RobustnessError` if invalid."""
    _check_compared(study)
    _check_own_sections(study)
    _check_tasks(study)
    _check_search(study)
    _check_winners(study)
    _check_stop(study)
    _check_contrasts(study)
    _check_vary(study)
    study = _with_default(study)
    trainable = find_trainable(study.trainable)
    if study.outcomes.records_start and not (trainable.untrained and trainable.records_start):
        raise StudyFileError(
            f"outcomes.learned_nothing.no_better_than_start: needs predictions of untrained networks for each example, "
            f"which the trainable {study.trainable!r} does not provide; set {{below: number}}"
        )
    if study.outcomes.measures_chance and trainable.untrained is None:
        raise StudyFileError(
            f"outcomes.learned_nothing: the chance level of the trainable {study.trainable!r} is unknown; "
            "set {below: number}"
        )
    judged = {"outcomes": study.outcomes} | {
        f"outcomes.secondary.{place}": other for place, other in enumerate(study.outcomes.secondary)
    }
    for section, judgement in judged.items():
        if trainable.metrics is not None and judgement.metric not in trainable.metrics:
            raise StudyFileError(f"{section}.metric: {unknown_name('metric', judgement.metric, trainable.metrics)}")
    if trainable.needs_torch:
        _check_device(study)
    return study if trainable.check is None else checked_by(trainable.check, study, check_data)


def _check_own_sections(study: Study) -> None:
    own = [arm for arm in study.arms if arm.space is not None]
    for arm in study.arms:
        if not study.space.options.items and arm.space is None and arm.label not in study.spaces:
            raise StudyFileError(f"space: is missing, and the arm {arm.label!r} has no space of its own")
        for key in ("epochs", "pretrain_epochs"):
            if key in arm.training and study.outcomes.measures_chance:
                raise StudyFileError(
                    f"arms: {arm.label!r} has its own training.{key}, so what chance scores differs between arms: "
                    "set outcomes.learned_nothing to {below: number}"
                )
    for position, arm in enumerate(study.arms):
        if arm.space is not None and arm.label in study.spaces:
            raise StudyFileError(f"arms.{position}.space: is also in search.spaces; keep one of the two")
    if not own:
        return
    if study.outcomes.measures_chance and (
        not study.paired or any("initial_rho" in arm.space.options.names() for arm in own if arm.space)
    ):
        raise StudyFileError(
            "outcomes.learned_nothing: thresholds from chance need initial_rho in the study's space, not in an arm's; "
            "set {below: number}"
        )
    if study.sampling.strategy == "grid" and study.paired and study.search is None:
        raise StudyFileError(
            "sampling.strategy: a grid cannot combine the study's space with spaces of its arms; set random or sobol"
        )
    if study.stop is not None and not study.paired:
        raise StudyFileError("stop: compares pairs, but the arms share no space")
    if study.winners is not None and study.winners.by is not None and not study.paired:
        raise StudyFileError("winners.by: must be in the study's space, but each arm has its own")


def _check_tasks(study: Study) -> None:
    if not study.tasks:
        return
    for section in ("search", "stop", "winners"):
        if getattr(study, section) is not None:
            raise StudyFileError(f"{section}: is for studies with one task; write it as `task`, not `tasks`")
    if study.outcomes.measures_chance:
        raise StudyFileError(
            "outcomes.learned_nothing: thresholds from chance are for studies with one task; set {below: number}, "
            "or leave out both thresholds"
        )


def has_own_code(study: Study) -> bool:
    """Whether the study names a user's own trainable, task or method, whose module may lie beside the study file."""
    names = [task.options.get("name") for task in study.each_task]
    own_task = any(isinstance(name, str) and not is_registered(name) for name in names)
    return own_task or ":" in study.trainable or any(":" in arm.method for arm in study.arms)


def _check_compared(study: Study) -> None:
    labels = [arm.label for arm in study.arms]
    if study.compare_with is not None and study.compare_with not in labels:
        raise StudyFileError(f"compare_with: {unknown_name('arm', study.compare_with, labels)}")


def _check_contrasts(study: Study) -> None:
    labels = [arm.label for arm in study.arms]
    for name, weights in study.contrasts.items():
        check_label(name, f"contrasts.{name}")
        for label in weights:
            if label not in labels:
                raise StudyFileError(f"contrasts.{name}: {unknown_name('arm', label, labels)}")
        total, largest = math.fsum(weights.values()), max(map(abs, weights.values()), default=0.0)
        if largest == 0 or abs(total) > 1e-9 * largest:
            raise StudyFileError(f"contrasts.{name}: weights must sum to zero and not all be zero, found {total:g}")


def _check_vary(study: Study) -> None:
    if not study.sampling.vary:
        return
    for key, section in (("stop", study.stop), ("winners", study.winners), ("search", study.search)):
        if section is not None:
            raise StudyFileError(f"sampling.vary: cannot be combined with `{key}`")
    if study.tasks:
        raise StudyFileError("sampling.vary: cannot be combined with `tasks`; vary streams in a study of one task")


def _with_default(study: Study) -> Study:
    """Return the study with the constants of the space filled into its default; raises if that is not in the space."""
    if study.default is None:
        return study
    if study.search is not None:
        raise StudyFileError("default: is only for sweeps; a search starts from `warm_start`")
    named = dict(study.default)
    known: set[str] = set()
    full: dict[str, Any] = {}
    for arm in study.arms:
        space = study.space_of(arm.label)
        known |= space.options.names()
        full |= configuration_in(space, {name: named[name] for name in named if name in space.options.names()})
    for name in named:
        if name not in known:
            raise StudyFileError(f"default.{name}: {unknown_name('hyperparameter', name, known)}")
    return replace(study, default=full)


def _check_device(study: Study) -> None:
    """Raise if trials should train on a GPU but have no share of one."""
    device = study.training.get("device")
    if str(device).startswith("cuda") and study.resources.gpu == 0:
        raise StudyFileError(
            f"training.device: is {shown(device)}, but trials see no GPU because resources.gpu is 0: "
            "set resources.gpu to 1 or to a share such as 0.5"
        )


def _check_search(study: Study) -> None:
    labels = [arm.label for arm in study.arms]
    if study.finals is not None:
        for key, chosen in (("arms", study.finals.arms), ("planned", study.finals.planned)):
            for position, label in enumerate(chosen or ()):
                if label not in labels:
                    raise StudyFileError(f"finals.{key}.{position}: {unknown_name('arm', label, labels)}")
    if study.search is None:
        if study.finals is not None:
            raise StudyFileError("finals: needs `search`, which selects the configurations of the final models")
        return
    search = study.search
    for key, overrides in (("spaces", search.spaces), ("models", search.models)):
        for label in overrides:
            if label not in labels:
                raise StudyFileError(f"search.{key}.{label}: {unknown_name('arm', label, labels)}")
    if study.outcomes.measures_chance:
        raise StudyFileError(
            "outcomes.learned_nothing: thresholds from untrained networks or guessing are only for sweeps; "
            "a study with `search` needs {below: number}"
        )
    if study.stop is not None:
        raise StudyFileError("stop: is only for sweeps; a study with `search` ends after search.runs")
    if study.sampling.configurations != search.runs:
        raise StudyFileError(
            f"sampling.configurations: leave it out or set it to search.runs ({search.runs}), "
            f"found {study.sampling.configurations}"
        )
    metrics = find_trainable(study.trainable).metrics or ()
    if search.objective is not None and OBJECTIVES[search.objective] not in metrics:
        raise StudyFileError(
            f"search.objective: {study.trainable!r} does not measure {search.objective}; leave it out to optimise "
            "outcomes.metric"
        )
    pretrained = study.training.get("pretrain_epochs", 0)
    if search.epochs is not None and search.epochs <= pretrained:
        raise StudyFileError(
            f"search.epochs: must be more than training.pretrain_epochs ({pretrained}), found {search.epochs}"
        )
    if search.warm_start == study.name:
        raise StudyFileError("search.warm_start: is this study itself; name another study in the store")


def _check_winners(study: Study) -> None:
    terms = study.winners
    if terms is None:
        return
    if study.search is not None:
        raise StudyFileError("winners: is only for sweeps; a study with `search` has `finals`")
    if study.stop is not None:
        raise StudyFileError(
            "winners: cannot be combined with `stop`, which may end before all configurations have been tried"
        )
    if study.sampling.replicates > 1:
        raise StudyFileError(
            f"sampling.replicates: must be 1 in a study with `winners`, which are selected on the first replicate, "
            f"found {study.sampling.replicates}"
        )
    if terms.by is None:
        if terms.fewer:
            raise StudyFileError("winners.fewer: needs winners.by, the hyperparameter whose values it lists")
        return
    options = dict(study.space.options.items)
    if terms.by not in options:
        raise StudyFileError(f"winners.by: {unknown_name('hyperparameter', terms.by, options)}")
    if isinstance(options[terms.by], Range):
        raise StudyFileError(f"winners.by: {terms.by!r} is a range; winners need a list of values")
    option = options[terms.by]
    values = (option.value,) if isinstance(option, Constant) else study.space.options.levels(terms.by)
    for name, count in terms.fewer.items():
        if name not in map(str, values):
            raise StudyFileError(f"winners.fewer: {unknown_name(f'value of {terms.by}:', name, map(str, values))}")
        if count > terms.replicates:
            raise StudyFileError(f"winners.fewer.{name}: must be at most {terms.replicates}, found {count}")


def _check_stop(study: Study) -> None:
    stop = study.stop
    if stop is None:
        return
    if study.outcomes.primary is None:
        raise StudyFileError("stop: compares fractions of outcomes, for which outcomes needs thresholds")
    labels = [arm.label for arm in study.arms]
    if len(labels) < 2:
        raise StudyFileError("stop: needs two arms, whose difference it tests, but the study has one")
    if study.sampling.strategy != "random":
        raise StudyFileError(
            f"stop: needs configurations in random order, found sampling.strategy {study.sampling.strategy}: "
            "set it to random, which can also draw a whole space"
        )
    if study.space.cross:
        raise StudyFileError(
            "stop: cannot be combined with a search space that has `cross`, whose configurations are not drawn "
            "independently of each other"
        )
    if stop.equivalence and study.outcomes.fraction_margin is None:
        raise StudyFileError("stop.equivalence: needs a margin, outcomes.equivalent_within, of fractions")
    if stop.arms is None:
        return
    for position, label in enumerate(stop.arms):
        if label not in labels:
            raise StudyFileError(f"stop.arms.{position}: {unknown_name('arm', label, labels)}")
    if stop.arms[0] == stop.arms[1]:
        raise StudyFileError(f"stop.arms: needs two different arms, found {stop.arms[0]!r} twice")
    if study.compare_with is not None and study.compare_with not in stop.arms:
        raise StudyFileError(
            f"stop.arms: must include {study.compare_with!r}, the arm that compare_with compares every other with, "
            f"found {stop.arms[0]!r} and {stop.arms[1]!r}"
        )
