"""A trial and a study of Optuna, from its database or its journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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


@dataclass(frozen=True)
class OptunaStudy:
    """A study with its trials."""

    name: str
    directions: Sequence[str]
    trials: Sequence[OptunaTrial]


def is_adaptive(attributes: Iterable[str]) -> bool | None:
    """Whether a trial was proposed by earlier results, by its system attributes.

    The grid, CMA-ES and evolutionary samplers leave traces, TPE and Gaussian processes only some; random draws none.
    """
    names = list(attributes)
    if any(name.startswith(("tpe:", "gp:", "cma:")) or name.endswith(":generation") for name in names):
        return True
    return False if "grid_id" in names else None
