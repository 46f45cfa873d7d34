"""A trial and a study of Optuna, from its database or its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    gridded: bool
    """Whether a grid sampler proposed it."""


@dataclass(frozen=True)
class OptunaStudy:
    """A study with its trials."""

    name: str
    directions: Sequence[str]
    trials: Sequence[OptunaTrial]
