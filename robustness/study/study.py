"""The study: the checked content of a study file as one frozen record, built by `loading.py`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from robustness.goal import Goal
from robustness.metrics import OBJECTIVES, objective_goal
from robustness.plugins import find_trainable
from robustness.space.space import Space, merged
from robustness.study.arms import Arm, compared_arms
from robustness.study.changes import decisive
from robustness.study.outcome_sections import Outcomes
from robustness.study.sections import Finals, Reference, Resources, Sampling, Search, Stop, Winners
from robustness.study.tasks import Task


@dataclass(frozen=True)
class Study:
    """A study after reading and checking."""

    name: str
    description: str
    trainable: str
    task: Mapping[str, Any]
    model: Mapping[str, Any]
    arms: tuple[Arm, ...]
    space: Space
    sampling: Sampling
    training: Mapping[str, Any]
    """For `classification`, the fields of `TrainingOptions` with defaults filled in."""
    outcomes: Outcomes
    resources: Resources
    reference: Reference | None
    stop: Stop | None
    search: Search | None = None
    """How `robustness optimize` searches; None for a sweep."""
    finals: Finals | None = None
    winners: Winners | None = None
    """How the best configurations of a sweep are trained on further replicates."""
    spaces: Mapping[str, Space] = field(default_factory=dict)
    """Per-arm overrides of `space`."""
    folder: Path | None = None
    """The folder of the study file, from which a user's own modules are imported; not part of the document."""
    contrasts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Weights of the arms in each contrast, by its name."""
    compare_with: str | None = None
    """The arm that every other arm is compared with; None compares all pairs."""
    default: Mapping[str, Any] | None = None
    """The configuration that one would use without tuning; None if the study names none."""
    tasks: tuple[Task, ...] = ()
    """Empty in a study with a single `task`."""

    @property
    def seed(self) -> int:
        return self.sampling.seed

    @property
    def compared(self) -> list[tuple[str, str]]:
        """The two arms of every comparison of the report."""
        return compared_arms([arm.label for arm in self.arms], self.compare_with)

    @property
    def objective(self) -> str:
        """The measure that a search optimises."""
        name = self.search.objective if self.search is not None else None
        return self.outcomes.metric if name is None else OBJECTIVES[name]

    @property
    def objective_goal(self) -> Goal:
        """Whether a search maximises or minimises it."""
        return objective_goal(None if self.search is None else self.search.objective, self.outcomes.direction)

    def judged_by_objective(self) -> Study:
        """The study as its search and its final models judge a trial: by the objective, at the best epoch."""
        goal = self.objective_goal
        update: dict[str, Any] = {"metric": self.objective, "epoch": "best", "goal": goal.name}
        if goal != self.outcomes.direction:
            # The thresholds are about the other metric.
            update |= {"learned_nothing": None, "good": None, "primary": None}
        return replace(self, outcomes=self.outcomes.model_copy(update=update))

    @property
    def searches(self) -> int:
        """How many times each arm is searched."""
        return 1 if self.finals is None else self.finals.searches

    @property
    def keeps_curves(self) -> bool:
        """Whether the report reads the curves of the study's trials."""
        return find_trainable(self.trainable).keeps_curves

    @property
    def each_task(self) -> tuple[Task, ...]:
        """The tasks on which every configuration is trained."""
        return self.tasks or (Task("", self.task),)

    @property
    def paired(self) -> bool:
        """Whether arms share their configurations: not if each draws from its own space alone."""
        return bool(self.space.options.items) or all(arm.space is None for arm in self.arms)

    def arm(self, label: str) -> Arm:
        """Return the arm with this label."""
        return next(arm for arm in self.arms if arm.label == label)

    def space_of(self, arm: str) -> Space:
        """Return the space from which an arm's configurations are drawn: the shared one and its own."""
        return self._spaces[arm]

    @cached_property
    def _spaces(self) -> dict[str, Space]:
        own = {arm.label: self.space if arm.space is None else merged(self.space, arm.space) for arm in self.arms}
        return own | dict(self.spaces)

    def model_of(self, arm: str) -> Mapping[str, Any]:
        """Return the `model` options of an arm."""
        return {**self.model, **(self.search.models.get(arm, {}) if self.search else {}), **self.arm(arm).model}

    def training_of(self, arm: str) -> Mapping[str, Any]:
        """Return the `training` options of an arm."""
        return {**self.training, **self.arm(arm).training}

    def document(self) -> dict[str, Any]:
        """Return the whole study as plain values with defaults filled in, as the store keeps and compares it."""
        document = {
            "name": self.name,
            "description": self.description,
            "trainable": self.trainable,
            "task": _plain(self.task),
            "model": _plain(self.model),
            "arms": [_plain(arm.document()) for arm in self.arms],
            "space": _plain(self.space.data),
            "sampling": self.sampling.model_dump(mode="json"),
            "training": _plain(self.training),
            "outcomes": self.outcomes.model_dump(mode="json"),
            "resources": self.resources.model_dump(mode="json"),
            "reference": None if self.reference is None else self.reference.model_dump(mode="json"),
            "stop": None if self.stop is None else self.stop.model_dump(mode="json"),
        }
        if self.tasks:
            document["tasks"] = [{"label": task.label, "task": _plain(task.options)} for task in self.tasks]
        if self.search is not None:
            spaces = {arm: _plain(space.data) for arm, space in self.spaces.items()}
            # Omitted where it is off, so that searches registered before this option existed keep their hash.
            omitted = {"pruning"} if self.search.pruning is None else None
            document["search"] = self.search.model_dump(mode="json", exclude=omitted) | {"spaces": spaces}
        if self.finals is not None:
            document["finals"] = self.finals.model_dump(mode="json")
        if self.compare_with is not None:
            document["compare_with"] = self.compare_with
        if self.winners is not None:
            document["winners"] = self.winners.model_dump(mode="json")
        if self.default is not None:
            document["default"] = _plain(self.default)
        if self.contrasts:
            document["contrasts"] = {name: dict(weights) for name, weights in self.contrasts.items()}
        return document

    @property
    def hash(self) -> str:
        """A fingerprint of everything that affects results."""
        return hashlib.sha256(json.dumps(decisive(self.document()), sort_keys=True).encode()).hexdigest()


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of plain values after a round trip through JSON."""
    copy: dict[str, Any] = json.loads(json.dumps(dict(values), allow_nan=False))
    return copy
