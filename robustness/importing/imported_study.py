"""Runs of another tool as a study in the store, which has no study file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from robustness.errors import RobustnessError
from robustness.goal import find_goal
from robustness.importing.assembling import Runs
from robustness.importing.options import ImportOptions
from robustness.importing.pairing import Pairs
from robustness.store import Store
from robustness.store.bulk import EndedTrials, save_ended
from robustness.trial import IMPORTED, LARGEST


@dataclass(frozen=True)
class ImportedStudy:
    """An imported study in the form that the store keeps."""

    name: str
    runs: Runs = field(repr=False)
    options: ImportOptions
    ignored: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    """The command that imported the runs, for messages that extend it; empty for an import from Python."""

    @staticmethod
    def of(name: str, runs: Runs, options: ImportOptions, ignored: Mapping[str, str]) -> ImportedStudy:
        """The study; raises RobustnessError if its thresholds contradict each other or its goal."""
        nothing, good = options.learned_nothing, options.good
        if nothing is not None and good is None:
            raise RobustnessError(
                f"{options.named('learned_nothing')} also needs {options.named('good')}, which may stand alone"
            )
        if any(limit is not None and not abs(limit) <= LARGEST for limit in (nothing, good)):
            both = f"{options.named('good')} and {options.named('learned_nothing')}"
            raise RobustnessError(f"{both} must be finite, and at most {LARGEST:g} in size")
        if nothing is not None and good is not None and find_goal(runs.goal).better(nothing, good):
            side = "below" if runs.goal == "minimize" else "above"
            first, second = options.named("learned_nothing"), options.named("good")
            raise RobustnessError(f"{first} {nothing:g} must not be {side} {second} {good:g}")
        return ImportedStudy(name, runs, options, ignored)

    @property
    def judged(self) -> str:
        """The epoch that judges a run: `best` or `last`."""
        return self.options.judged or ("last" if self.runs.kind == "optuna" else "best")

    @property
    def keeps_curves(self) -> bool:
        return False

    def document(self) -> dict[str, Any]:
        """The study in the form of a study file."""
        runs = self.runs
        tasks = [{"label": task, "task": {"name": task}} for task in runs.tasks if task]
        sampling = {
            "strategy": IMPORTED,
            "configurations": len(runs.configurations),
            "replicates": 1 + int(runs.frame["replicate"].max()),
            "seed": 0,
        }
        return {
            "name": self.name,
            "description": "Runs that were made elsewhere.",
            "trainable": IMPORTED,
            "task": {},
            **({"tasks": tasks} if tasks else {}),
            "model": {},
            "arms": [{"label": arm, "method": arm, "options": {}} for arm in runs.arms],
            "space": {},
            "sampling": sampling,
            "training": {},
            "outcomes": self._outcomes(),
            "resources": {},
            "reference": None,
            "stop": None,
            IMPORTED: self._provenance(),
        }

    @property
    def hash(self) -> str:
        """A hash of the document and of every run, so that a corrected file is noticed."""
        # The same import by another command is the same study.
        document = replace(self, command="").document()
        digest = hashlib.sha256(json.dumps([document, list(self.runs.configurations)], sort_keys=True).encode())
        # Hashing many values at once, in the order of the file.
        for frame in (self.runs.frame, self.runs.epochs):
            digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
        return digest.hexdigest()

    def save(self, store: Store, replace: bool = False) -> None:
        """Write the study with all of its runs at once.

        Raises StoreError if the store has a study of that name with other content, unless it was imported and is to be
        replaced.
        """
        with store.writing() as connection:
            save_ended(connection, self, self._trials(), replace)

    def _outcomes(self) -> dict[str, Any]:
        runs, options = self.runs, self.options
        outcomes: dict[str, Any] = {"metric": runs.metric, "epoch": self.judged}
        minimizes = runs.goal == "minimize"
        if minimizes:
            outcomes["goal"] = runs.goal
        if options.good is None:
            return outcomes | {"learned_nothing": None, "good": None, "primary": None}
        # As for functions: with `good` alone, every run that is not good counts as having learned nothing.
        alone = options.learned_nothing is None
        limit = options.good if alone else options.learned_nothing
        nothing = {"no_better_than_untrained": None, "above" if minimizes else "below": limit}
        good = {"at_most" if minimizes else "at_least": options.good}
        return outcomes | {"learned_nothing": nothing, "good": good, "primary": "good" if alone else "learned_nothing"}

    def _provenance(self) -> dict[str, Any]:
        """Where the runs come from and what was decided about them."""
        runs, pairs = self.runs, Pairs.of(self.runs)
        return {
            "source": runs.source,
            "kind": runs.kind,
            "crashes_are_diverged": any(" crashed" in each and each.endswith("as diverged") for each in runs.remarks),
            "adaptive": bool(runs.adaptive),
            "adaptive_is_assumed": runs.assumed,
            "paired": bool(pairs.all_arms or pairs.some_arms) or len(runs.arms) < 2,
            "seeds": [str(seed) for seed in runs.seeds[:1000]],
            "remarks": list(runs.remarks),
            "ignored": dict(list(self.ignored.items())[:1000]),
            **({"command": self.command} if self.command else {}),
        }

    def _trials(self) -> EndedTrials:
        """The runs with the metric at the epoch that judges each."""
        runs = self.runs
        values = runs.epochs[runs.metric].to_numpy(dtype=float)
        counted = runs.epochs[np.isfinite(values)]
        # As in a sweep: judged at the last epoch, a diverged run has no metric.
        lost = (runs.frame["status"] == "diverged").to_numpy() & (self.judged == "last")
        if self.judged == "best":
            oriented = counted[runs.metric] * (-1 if runs.goal == "minimize" else 1)
            # Among equal values the earliest epoch counts, so it comes last.
            counted = counted.assign(order=oriented).iloc[::-1].sort_values("order", kind="stable")
        judged = counted.drop_duplicates("run", keep="last").set_index("run").reindex(runs.frame.index)
        metric = judged[runs.metric].where(~lost)
        return EndedTrials(
            runs.frame.assign(metric=metric, metric_epoch=judged["epoch"].where(metric.notna())),
            runs.epochs,
            runs.configurations,
        )
