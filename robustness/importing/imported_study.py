"""Runs of another tool as a study in the store, which has no study file.

A reader (`robustness.importing.csv_runs`) turns the rows of a format into `ImportedRun` records. Runs of different arms
with the same hyperparameters are paired; further runs of the same arm and configuration are its replicates.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from robustness.errors import RobustnessError
from robustness.store import Store
from robustness.trial import EpochResult, Status, Trial, TrialKey

IMPORTED = "imported"
"""The trainable and sampling strategy of imported runs."""


@dataclass(frozen=True)
class ImportedRun:
    """One run of another tool."""

    arm: str
    hyperparameters: Mapping[str, Any]
    status: Status
    metric: float | None
    """NaN is a result; None means that there is none."""
    seconds: float | None = None
    replicate: int | None = None
    """None counts the runs of an arm and configuration in their order."""
    source: str = ""
    """File and line, for error messages."""


@dataclass(frozen=True)
class ImportedStudy:
    """An imported study in the form that the store registers; it is also its own plan."""

    name: str
    metric: str
    learned_nothing: float
    good: float
    runs: Mapping[TrialKey, ImportedRun] = field(repr=False)

    @staticmethod
    def of(name: str, metric: str, runs: Iterable[ImportedRun], learned_nothing: float, good: float) -> ImportedStudy:
        """Number the configurations and replicates of runs; raises RobustnessError if they cannot be compared."""
        if learned_nothing > good:
            raise RobustnessError(f"--learned-nothing {learned_nothing:g} must not be above --good {good:g}")
        study = ImportedStudy(name, metric, learned_nothing, good, _by_key(runs))
        _check_pairs(study)
        return study

    @property
    def arms(self) -> list[str]:
        """The labels of the arms, in the order of their first runs."""
        return list(dict.fromkeys(key.arm for key in self.runs))

    @property
    def keeps_curves(self) -> bool:
        return False

    def document(self) -> dict[str, Any]:
        """The study in the form of a study file."""
        replicates = 1 + max((key.replicate for key in self.runs), default=0)
        configurations = len({key.configuration for key in self.runs})
        return {
            "name": self.name,
            "description": "Runs that were made elsewhere.",
            "trainable": IMPORTED,
            "task": {},
            "model": {},
            "arms": [{"label": arm, "method": arm, "options": {}} for arm in self.arms],
            "space": {},
            "sampling": {"strategy": IMPORTED, "configurations": configurations, "replicates": replicates, "seed": 0},
            "training": {},
            "outcomes": {
                "metric": self.metric,
                "epoch": "best",
                "learned_nothing": {"below": self.learned_nothing, "no_better_than_untrained": None},
                "good": {"at_least": self.good},
                "primary": "learned_nothing",
            },
            "resources": {},
            "reference": None,
            "stop": None,
        }

    @property
    def hash(self) -> str:
        """A hash of the document and the configurations."""
        rows = [[*key[:3], dict(run.hyperparameters)] for key, run in self.runs.items()]
        return hashlib.sha256(json.dumps([self.document(), rows], sort_keys=True).encode()).hexdigest()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The plan: one trial for each run."""
        return tuple(
            Trial(
                self.name,
                0,
                key.configuration,
                key.arm,
                key.replicate,
                hyperparameters=run.hyperparameters,
                method=key.arm,
                metric=self.metric,
                trainable=IMPORTED,
            )
            for key, run in self.runs.items()
        )

    def save(self, store: Store) -> None:
        """Register the study and write its ended runs, each with one epoch if it has a metric."""
        registered = store.register(self, self)
        # Nobody waits for single runs, so they are saved in large batches.
        with registered.lock(), registered.writer(flush_every=math.inf, flush_rows=20_000, flush_ends=False) as writer:
            for key, run in self.runs.items():
                if run.status == "planned":
                    continue
                writer.started(key, worker="import")
                if run.metric is not None:
                    writer.epoch(key, EpochResult(1, {self.metric: run.metric}))
                number = None if run.metric is None else 1
                writer.ended(key, run.status, run.metric, number, seconds=run.seconds)


def _by_key(runs: Iterable[ImportedRun]) -> dict[TrialKey, ImportedRun]:
    numbers: dict[str, int] = {}
    counts: Counter[tuple[int, str]] = Counter()
    by_key: dict[TrialKey, ImportedRun] = {}
    for run in runs:
        number = numbers.setdefault(json.dumps(run.hyperparameters, sort_keys=True), len(numbers))
        replicate = counts[number, run.arm] if run.replicate is None else run.replicate
        counts[number, run.arm] += 1
        key = TrialKey(number, run.arm, replicate)
        if key in by_key:
            raise RobustnessError(
                f"{run.source}: {run.arm!r} already has a run with this configuration and replicate {replicate}"
            )
        by_key[key] = run
    return by_key


def _check_pairs(study: ImportedStudy) -> None:
    """Refuse arms that share no configuration: most likely a measure was taken for a hyperparameter."""
    arms: dict[int, set[str]] = {}
    for key in study.runs:
        arms.setdefault(key.configuration, set()).add(key.arm)
    if len(study.arms) > 1 and max(map(len, arms.values())) == 1:
        names = sorted({name for run in study.runs.values() for name in run.hyperparameters})
        raise RobustnessError(
            f"no configuration occurs in two arms if the hyperparameters are {', '.join(names)}: "
            "name their columns with --hyperparameters A,B,..."
        )
