"""The plan of a sweep: all configurations and trials of a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from robustness.errors import SearchSpaceError, StudyFileError
from robustness.guards.limits import check
from robustness.space.own_spaces import draw_own, draw_shared
from robustness.space.space import Configuration
from robustness.study.study import Study
from robustness.sweep.winners import count_further
from robustness.trial import Trial, TrialKey


@dataclass(frozen=True)
class Plan:
    """The configurations and trials of a sweep."""

    study: str
    configurations: tuple[Configuration, ...]
    """Numbered by position, from 0; extending a study keeps the existing ones."""
    trials: tuple[Trial, ...]
    """In running order: paired trials together, and each configuration once, on every task, before the next replicate;
    in a study with `stop`, all replicates of a configuration before the next one."""
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
    trials = tuple(
        Trial(
            study=study.name,
            seed=sampling.seed,
            configuration=number,
            arm=arm.label,
            replicate=replicate,
            hyperparameters={**configuration, **own[arm.label][number]} if arm.label in own else configuration,
            method=arm.method,
            method_options=arm.options,
            task=task.options,
            model=study.model_of(arm.label),
            training=study.training_of(arm.label),
            metric=study.outcomes.metric,
            trainable=study.trainable,
            records_start=study.outcomes.records_start,
            goal=study.outcomes.goal,
            task_label=task.label,
            varied=sampling.varied(replicate),
            own=tuple(own[arm.label][number]) if arm.label in own else (),
        )
        for number, configuration, replicate in _order(configurations, sampling.trials, study.stop is not None)
        for task in study.each_task
        for arm in study.arms
        if arm.label not in own or number < len(own[arm.label])
    )
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
