"""The plan of a sweep: all configurations and trials of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from robustness.errors import SearchSpaceError, StudyFileError
from robustness.guards.limits import check
from robustness.space.own_spaces import draw_own, draw_shared
from robustness.space.space import Configuration
from robustness.study.arms import Arm
from robustness.study.study import Study
from robustness.study.tasks import Task
from robustness.sweep.winners import count_further
from robustness.trial import DEFAULT_CONFIGURATION, Stage, Trial, TrialKey


@dataclass(frozen=True)
class Plan:
    """The configurations and trials of a sweep."""

    study: str
    configurations: tuple[Configuration, ...]
    """Numbered by position, from 0; extending a study keeps the existing ones."""
    trials: tuple[Trial, ...]
    """In running order: paired trials together, and each configuration once, on every task, before the next replicate;
    in a study with `stop`, all replicates of a configuration before the next one. Those of the default come first."""
    space: int | None
    """The number of configurations in the space; None if it is continuous."""
    allowed: int | None
    """The number of configurations that the space's condition allows."""
    replicates: int = 1
    """The largest number of replicates of a configuration, including the further ones of winners."""
    winners: int = 0
    """The largest number of further trials of winners."""

    def trial(self, key: TrialKey) -> Trial:
        """The trial of a key, including further trials of winners; raises StudyFileError if there is none."""
        first = self._by_key.get(key._replace(replicate=0))
        if first is None or not 0 <= key.replicate < self.replicates:
            raise StudyFileError(
                f"the study {self.study!r} has no trial {key}; it has configurations 0 to "
                f"{len(self.configurations) - 1} and arms {', '.join(sorted({trial.arm for trial in self.trials}))}"
                + (f" on the tasks {', '.join(self.tasks)}" if self.tasks else "")
                + (f", replicates 0 to {self.replicates - 1}" if key.replicate else "")
            )
        return self._by_key.get(key) or replace(first, replicate=key.replicate)

    @cached_property
    def tasks(self) -> list[str]:
        """The labels of the tasks; none in a study with a single one."""
        return [label for label in dict.fromkeys(trial.task_label for trial in self.trials) if label]

    @cached_property
    def own(self) -> dict[str, list[Configuration]]:
        """For each arm with its own space its draws from that, by the number of the configuration."""
        drawn: dict[str, dict[int, Configuration]] = {}
        for trial in self.trials:
            if trial.own:
                values = {name: trial.hyperparameters[name] for name in trial.own}
                drawn.setdefault(trial.arm, {})[trial.configuration] = values
        return {arm: [draws[number] for number in sorted(draws)] for arm, draws in drawn.items()}

    @cached_property
    def drawn(self) -> tuple[Trial, ...]:
        """The trials of drawn configurations: all but those of the study's default."""
        return tuple(trial for trial in self.trials if trial.stage == "sweep")

    @cached_property
    def _by_key(self) -> dict[TrialKey, Trial]:
        return {trial.key: trial for trial in self.trials}

    def as_json(self) -> dict[str, Any]:
        """The plan as `robustness plan --json` prints it."""
        return {
            "study": self.study,
            "space": self.space,
            "allowed": self.allowed,
            "configurations": len(self.configurations),
            "trials": len(self.trials),
            **({"default": len(self.trials) - len(self.drawn)} if len(self.trials) > len(self.drawn) else {}),
            **({"winners": self.winners} if self.winners else {}),
            "arms": list(dict.fromkeys(trial.arm for trial in self.trials)),
            **({"tasks": self.tasks} if self.tasks else {}),
            "plan": [
                {"configuration": number, "hyperparameters": configuration}
                | ({"own": self.own_draws(number)} if self.own else {})
                for number, configuration in enumerate(self.configurations)
            ],
        }

    def own_draws(self, number: int) -> dict[str, Configuration]:
        """What each arm with its own space drew from it for a configuration."""
        return {arm: draws[number] for arm, draws in self.own.items() if number < len(draws)}


def make_plan(study: Study) -> Plan:
    """Draw the configurations of a study; raises SearchSpaceError if the space has too few."""
    sampling = study.sampling
    try:
        wanted = sampling.configurations or study.space.allowed() or 0
        trained = wanted * len(study.arms) * sampling.trials * len(study.each_task)
        check("trials", trained, "the plan", SearchSpaceError)
        configurations, own = _draw(study)
        space, allowed = study.space.size(), study.space.allowed()
    except SearchSpaceError as error:
        raise SearchSpaceError(f"study {study.name!r}: {error}") from None
    order = _order(configurations, sampling.trials, study.stop is not None)
    drawn = (
        _trial(study, arm, task, number, replicate, configuration, own[arm.label][number] if arm.label in own else {})
        for number, configuration, replicate in order
        for task in study.each_task
        for arm in study.arms
        if arm.label not in own or number < len(own[arm.label])
    )
    # The default first: a sweep that stops on its evidence has it.
    trials = (*_default_trials(study), *drawn)
    terms = study.winners
    return Plan(
        study.name,
        tuple(configurations),
        trials,
        space,
        allowed,
        replicates=max(sampling.trials, 0 if terms is None else terms.replicates),
        winners=0 if terms is None else count_further(terms, len(study.arms), configurations),
    )


def _trial(
    study: Study,
    arm: Arm,
    task: Task,
    number: int,
    replicate: int,
    shared: Mapping[str, Any],
    own: Mapping[str, Any],
    stage: Stage = "sweep",
) -> Trial:
    """One trial of a configuration, whose part from the arm's own space is `own`."""
    return Trial(
        study=study.name,
        seed=study.seed,
        configuration=number,
        arm=arm.label,
        replicate=replicate,
        hyperparameters={**shared, **own},
        method=arm.method,
        method_options=arm.options,
        task=task.options,
        model=study.model_of(arm.label),
        training=study.training_of(arm.label),
        metric=study.outcomes.metric,
        trainable=study.trainable,
        stage=stage,
        records_start=study.outcomes.records_start,
        goal=study.outcomes.goal,
        task_label=task.label,
        varied=study.sampling.varied(replicate),
        own=tuple(own),
    )


def _default_trials(study: Study) -> Iterator[Trial]:
    """The trials of the study's default, in each of its replicates and on each task; none if it names none."""
    default = study.default
    if default is None:
        return
    for replicate in range(study.sampling.trials):
        for task in study.each_task:
            for arm in study.arms:
                names = set() if arm.space is None else arm.space.options.names()
                own = {name: default[name] for name in default if name in names}
                shared = {name: default[name] for name in default if name in study.space.options.names()}
                yield _trial(study, arm, task, DEFAULT_CONFIGURATION, replicate, shared, own, "default")


def _draw(study: Study) -> tuple[list[Configuration], dict[str, list[Configuration]]]:
    """The shared part of every configuration, and the draws of each arm with its own space."""
    sampling = study.sampling
    own = {arm.label: arm.space for arm in study.arms if arm.space is not None}
    if len(own) < len(study.arms):
        # An arm without its own space must not train the same configuration twice.
        shared = study.space.draw(sampling.strategy, sampling.configurations, sampling.seed)
    elif study.paired:
        shared = draw_shared(study.space, sampling.strategy, sampling.configurations or 0, sampling.seed)
    else:
        # The arms of a grid without shared options may have different numbers of configurations.
        drawn = {
            label: draw_own(space, study.space, [{}] * count, sampling.strategy, sampling.seed, label)
            for label, space in own.items()
            for count in [sampling.configurations or space.allowed() or 0]
        }
        return [{} for _ in range(max(map(len, drawn.values())))], drawn
    drawn = {
        label: draw_own(space, study.space, shared, sampling.strategy, sampling.seed, label)
        for label, space in own.items()
    }
    return shared, drawn


def _order(
    configurations: Sequence[Configuration], replicates: int, whole: bool
) -> Iterator[tuple[int, Configuration, int]]:
    """Every configuration and replicate in running order: replicate by replicate, or configurations as a `whole`."""
    numbered = list(enumerate(configurations))
    if whole:
        yield from ((number, values, replicate) for number, values in numbered for replicate in range(replicates))
    else:
        yield from ((number, values, replicate) for replicate in range(replicates) for number, values in numbered)
