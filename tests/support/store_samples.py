"""Small studies for the store's tests, as plain records: the store asks no more of a study than these have.

A folder's conftest takes the fixtures `store` and `sample` from here, and `store_url` from `support.databases`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from robustness.store import Store, StudyStore, open_store
from robustness.trial import EpochResult, Trial, TrialKey

ARMS = ("mfvi", "radial")


@dataclass(frozen=True)
class SampleStudy:
    name: str = "sample"
    configurations: int = 3
    arms: tuple[str, ...] = ARMS
    extra: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "arms": [{"label": arm, "method": arm, "options": {}} for arm in self.arms],
            "sampling": {"configurations": self.configurations, "replicates": 1, "seed": 7},
            **self.extra,
        }

    @property
    def keeps_curves(self) -> bool:
        return False

    @property
    def hash(self) -> str:
        decides = {key: value for key, value in self.document().items() if key != "description"}
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class SamplePlan:
    trials: tuple[Trial, ...]


def plan_of(study: SampleStudy) -> SamplePlan:
    return SamplePlan(
        tuple(
            Trial(study.name, 7, number, arm, hyperparameters={"optimizer": "sgd", "learning_rate": 0.1 / (number + 1)})
            for number in range(study.configurations)
            for arm in study.arms
        )
    )


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with open_store(store_url) as opened:
        yield opened


@pytest.fixture
def sample(store: Store) -> StudyStore:
    """A study of three configurations and two arms that has not started."""
    study = SampleStudy()
    return store.register(study, plan_of(study))


def epoch(number: int, **measures: float) -> EpochResult:
    return EpochResult(number, measures or {"nll": 1.0 / number, "validation_auc": 0.5 + number / 100}, seconds=0.25)


RADIAL = TrialKey(1, "radial")
MFVI = TrialKey(1, "mfvi")
