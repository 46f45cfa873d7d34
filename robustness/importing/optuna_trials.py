"""A trial and a study of Optuna, from its database or its journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from robustness.importing.runs import adaptive_together

ENQUEUED = "fixed_params"
"""The system attribute of a trial that `enqueue_trial` added."""


@dataclass(frozen=True)
class OptunaTrial:
    """One trial."""

    state: str
    """COMPLETE, PRUNED, FAIL, RUNNING or WAITING."""
    parameters: Mapping[str, Any]
    values: Sequence[float]
    """One for each objective."""
    intermediate: Mapping[int, float]
    started: float | None
    ended: float | None
    adaptive: bool | None
    """Whether it was proposed by earlier results; None if its sampler left no trace."""
    enqueued: bool = False
    """Whether its parameters were set by `enqueue_trial`."""


@dataclass(frozen=True)
class OptunaStudy:
    """A study with its trials."""

    name: str
    directions: Sequence[str]
    trials: Sequence[OptunaTrial]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """What the user noted on the study."""


def is_adaptive(attributes: Iterable[str]) -> bool | None:
    """Whether a trial was proposed by earlier results, by its system attributes.

    The grid, CMA-ES and evolutionary samplers leave traces, TPE and Gaussian processes only some; random draws none.
    """
    names = list(attributes)
    if any(name.startswith(("tpe:", "gp:", "cma:")) or name.endswith(":generation") for name in names):
        return True
    return False if "grid_id" in names else None


def proposed_adaptively(studies: Sequence[OptunaStudy]) -> bool | None:
    """Whether trials of any study were proposed by earlier results; None if nothing tells.

    Beside the traces of samplers, a note of the user on the study says it, such as `sampler: RandomSampler`. Studies
    with other results and yet the same configurations were not proposed by these results.
    """
    if _same_configurations(studies):
        return False
    known = [
        _noted_sampler(study.attributes) if trial.adaptive is None else trial.adaptive
        for study in studies
        for trial in study.trials
    ]
    return adaptive_together(known)


def _noted_sampler(attributes: Mapping[str, Any]) -> bool | None:
    for name, value in attributes.items():
        if "sampler" in name.lower():
            text = str(value).lower()
            if any(word in text for word in ("random", "grid", "qmc", "bruteforce")):
                return False
            if any(word in text for word in ("tpe", "gp", "cma", "nsga", "bayes", "botorch")):
                return True
    return None


def _same_configurations(studies: Sequence[OptunaStudy]) -> bool:
    """Whether several studies tried the same configurations with other results, and none was enqueued."""
    if len(studies) < 2 or any(trial.enqueued for study in studies for trial in study.trials):
        return False

    def tried(study: OptunaStudy) -> list[str]:
        return sorted(repr(sorted(trial.parameters.items())) for trial in study.trials)

    def shown(study: OptunaStudy) -> list[str]:
        return sorted(repr(list(trial.values)) for trial in study.trials)

    first, *others = studies
    return all(tried(study) == tried(first) and shown(study) != shown(first) for study in others)
