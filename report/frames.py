"""A study in the store as a few tidy frames, which all statistics and figures share.

`trials` has a row for each trial, sorted by configuration, replicate and the study's order of arms:

| column | meaning |
|---|---|
| configuration, arm, replicate | the key of the trial |
| stage, search, run | sweep, search or final; the search and the run of the arm in it, from 0, <NA> in a sweep |
| status | planned, running, finished, diverged, out_of_memory, timed_out, failed or pruned |
| epochs | the number of epochs it has recorded, without pre-training |
| best, best_epoch | the best value of the study's metric and its first epoch; NaN, <NA> without one |
| last, last_epoch | the metric at the last epoch at which it was a number |
| measured | whether it can be judged: by an epoch after pre-training, or by a metric without epochs |
| seconds, attempts, started, ended, worker, device, error | how it ran, which differs from run to run |

`report.judging.judge_trials` adds the outcomes. `configurations` has a row for each configuration, indexed by its
number, and a column for each hyperparameter (NaN where a configuration has none of that name); one from the space of a
single arm is called `ARM: NAME`. With several tasks, the trials of a configuration on each of them stand beside each
other like replicates: `replicate` is that of the trial plus `TASK_BLOCK` times the place of its task, and `task` its
label. `epochs` is the store's own frame (`robustness.store.reading`) in the same order: configuration, arm, replicate,
epoch, pretraining, seconds, and a column for each measure that any trial has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.records.estimates import JudgedOutcome
from report.records.stopped import Stopped
from robustness.goal import Goal, goal_in
from robustness.space.stored import in_space_order, names_in
from robustness.store import StudyStore
from robustness.store.consistency import contradictions
from robustness.store.epoch_summaries import summaries
from robustness.store.registering import CURVES_NOTE
from robustness.store.schema import MEASURES
from robustness.study.arms import compared_arms, is_paired
from robustness.study.registration import REGISTRATION_NOTE, Entry
from robustness.study.unused import unused_hyperparameters
from robustness.sweep.outcomes import Summary
from robustness.sweep.stopping import STOPPED_NOTE, WATCHED_NOTE
from robustness.trial import DEFAULT_CONFIGURATION, LARGEST, SEARCH_BLOCK, TrialKey

KEY = ["configuration", "arm", "replicate"]
TASK_BLOCK = 10_000
"""More than the replicates that a configuration can have."""
_STAGE = ["stage", "search", "run"]
_RAN = ["seconds", "attempts", "started", "ended", "worker", "device", "error"]
Stored: TypeAlias = Mapping[str, Any]
"""A JSON object as the store has it, checked when it was written: a study's document, or a note on it."""
TRIAL_COLUMNS = [
    *KEY,
    "task",
    *_STAGE,
    "status",
    "epochs",
    "best",
    "best_epoch",
    "last",
    "last_epoch",
    "measured",
    *_RAN,
]


@dataclass(frozen=True)
class StudyFrames:
    """A study as the store has it: its document and its frames."""

    name: str
    document: Stored
    """The study file, defaults filled in."""
    provenance: Stored
    """`hash`, `seed`, `versions`, `git_commit`, `hardware`, `created`."""
    untrained: Stored | None
    """The sweep's note on untrained networks, or None."""
    trials: pd.DataFrame
    configurations: pd.DataFrame
    epochs: pd.DataFrame
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    """The store's own frame of curves, of the project's own trainables alone: a user's may have millions of steps."""
    stopped: Stopped | None = None
    """The note of a sweep that its `stop` section ended."""
    watched: Stored | None = None
    """The `stop` section of a sweep that has or had one; its statistics allow for repeated looks."""
    predictions: Mapping[TrialKey, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    """Final models' predictions for the test set: `labels` [n], `patients` [n], `probabilities` [draws, n, classes]."""
    registration: Sequence[Entry] = ()
    """The registrations of the study before anything ran, oldest first."""
    contradictions: Sequence[TrialKey] = ()
    """Trials whose result does not follow from their epochs (`robustness.store.consistency`)."""
    default: StudyFrames | None = None
    """The trials of the study's default configuration, which none of the other frames has; None without one."""

    @cached_property
    def arms(self) -> list[str]:
        """The arms' labels, in the study's order."""
        return [str(arm["label"]) for arm in self.document["arms"]]

    @cached_property
    def tasks(self) -> list[str]:
        """The labels of the tasks in the study's order; empty in a study with a single one."""
        return [str(task["label"]) for task in self.document.get("tasks") or ()]

    @property
    def paired(self) -> bool:
        """Whether the arms share their configurations."""
        return is_paired(self.document)

    @cached_property
    def owners(self) -> dict[str, str]:
        """The arm of each hyperparameter, by its column, that comes from the space of a single arm."""
        own = {arm["label"]: names_in(arm["space"]) for arm in self.document["arms"] if arm.get("space")}
        columns = {own_column(arm, name): arm for arm, names in own.items() for name in names}
        return {name: columns[name] for name in self.hyperparameters if name in columns}

    @cached_property
    def unused(self) -> dict[str, tuple[str, ...]]:
        """For each arm the hyperparameters that its method does not use."""
        return unused_hyperparameters(self.document)

    def applies(self, hyperparameter: str, arm: str) -> bool:
        """Whether an arm has this hyperparameter and uses it."""
        return self.owners.get(hyperparameter, arm) == arm and hyperparameter not in self.unused[arm]

    @cached_property
    def compared(self) -> list[tuple[str, str]]:
        """The two arms of every comparison: every two, or every other arm with the study's `compare_with`."""
        return compared_arms(self.arms, self.document.get("compare_with"))

    @property
    def correction(self) -> str:
        """How p-values are corrected for the number of comparisons."""
        return "Holm's correction" if self.watched is None else "closed testing"

    @property
    def corrected(self) -> str:
        """The heading of corrected p-values."""
        return "By Holm" if self.watched is None else "Corrected"

    def corrected_over(self, count: int) -> str:
        """The heading of p-values that are corrected over so many comparisons: `By Holm, over 15`."""
        return f"{self.corrected}, over {count}" if count > 1 else self.corrected

    @property
    def metric(self) -> str:
        """The measure by which the study judges an epoch."""
        return str(self.document["outcomes"]["metric"])

    @cached_property
    def goal(self) -> Goal:
        """Whether the metric is maximised or minimised."""
        return goal_in(self.document)

    @property
    def has_thresholds(self) -> bool:
        """Whether trials have outcomes; without thresholds, they are compared by their scores alone."""
        return self.document["outcomes"].get("learned_nothing") is not None

    @property
    def rule(self) -> Summary:
        """The epoch at which the study judges a trial: `best` or `last`."""
        return cast(Summary, self.document["outcomes"]["epoch"])

    @property
    def primary(self) -> JudgedOutcome:
        """The outcome that the verdict is about: `learned_nothing` or `good`.

        In a study without thresholds no trial has either.
        """
        return cast(JudgedOutcome, self.document["outcomes"]["primary"] or "learned_nothing")

    @property
    def searches(self) -> int:
        """How many times each arm of an optimised study is searched."""
        return int((self.document.get("finals") or {}).get("searches", 1))

    @property
    def hyperparameters(self) -> list[str]:
        """The names of all hyperparameters, in the order of the search space."""
        return [str(name) for name in self.configurations.columns]

    @property
    def replicates(self) -> int:
        """The number of planned replicates of each configuration, without further ones of winners."""
        if self.document.get("winners"):
            return int(self.document["sampling"]["replicates"])
        if self.document["sampling"].get("vary"):
            # The others differ from the first in one stream alone: they are no replicates of the whole trial.
            return min(1, len(self.trials))
        return int((self.trials["replicate"] % TASK_BLOCK).max()) + 1 if len(self.trials) else 0

    @cached_property
    def varied(self) -> list[str]:
        """The hyperparameters that have different values (not merely none) in different configurations."""
        return [name for name in self.hyperparameters if len(self.configurations[name].dropna().unique()) > 1]

    @cached_property
    def starts(self) -> pd.Series[float]:
        """The metric of each trial's untrained network, by `KEY`, where its start was recorded as epoch 0."""
        at_start = self.epochs.loc[self.epochs["epoch"] == 0]
        values = at_start.get(self.metric_column, pd.Series(np.nan, index=at_start.index))
        return pd.Series(values.to_numpy(dtype=float), index=pd.MultiIndex.from_frame(at_start[KEY]))

    def trained(self, *measures: str) -> pd.DataFrame:
        """The epochs after pre-training: `KEY`, epoch and those of the measures that any trial has.

        A frame of all measures would be the largest part of the report's memory.
        """
        columns = [*KEY, "epoch", *(name for name in measures if name in self.epochs.columns)]
        return self.epochs[columns] if self.is_trained.all() else self.epochs.loc[self.is_trained, columns]

    @cached_property
    def is_trained(self) -> NDArray[np.bool_]:
        """Whether each epoch is one after pre-training."""
        return ~self.epochs["pretraining"].to_numpy(dtype=bool)

    @cached_property
    def metric_column(self) -> str:
        """The column of `epochs` that holds the metric."""
        renamed = f"measure_{self.metric}"
        return renamed if renamed in self.epochs.columns else self.metric


def load_frames(study: StudyStore) -> StudyFrames:
    """Read a study, which may be running, in a few short reads and without a lock."""
    document = study.document()
    # Trials first: the epochs of one that had ended by then are all there.
    stored = study.trials()
    epochs = _measured(study.epochs())
    found = contradictions(stored, epochs, document)
    epochs = _bounded(epochs)
    default = stored["stage"] == "default"
    if not default.any():
        return _frames(study, document, stored, epochs, found)
    drawn = _frames(study, document, stored[~default], epochs[epochs["configuration"] != DEFAULT_CONFIGURATION], found)
    return replace(drawn, default=_default_frames(drawn, stored[default], epochs))


def _measured(epochs: pd.DataFrame) -> pd.DataFrame:
    """The epochs without the usual measures that no trial has, which would be most of the memory of a large study."""
    return epochs.drop(columns=[name for name in MEASURES if epochs[name].isna().all()])


def _bounded(epochs: pd.DataFrame) -> pd.DataFrame:
    """The epochs with numbers beyond `LARGEST`, which an older version may have stored, as infinite ones."""
    measured = [name for name in epochs.columns if epochs[name].dtype == float and (epochs[name].abs() > LARGEST).any()]
    infinite = {name: np.copysign(np.inf, epochs[name]) for name in measured}
    return epochs.assign(
        **{name: epochs[name].mask(epochs[name].abs() > LARGEST, signed) for name, signed in infinite.items()}
    )


def _frames(
    study: StudyStore, document: Stored, stored: pd.DataFrame, epochs: pd.DataFrame, found: Sequence[TrialKey]
) -> StudyFrames:
    """The frames of these trials, which `found` has the contradictions of."""
    places = {str(task["label"]): place for place, task in enumerate(document.get("tasks") or ())}
    stored, epochs = _beside_each_other(stored, places), _beside_each_other(epochs, places).drop(columns="task")
    arms = [str(arm["label"]) for arm in document["arms"]]
    names = [str(name) for name in stored.columns[4 : stored.columns.get_loc("status")]]
    frames = StudyFrames(
        name=study.name,
        document=document,
        provenance=study.provenance(),
        untrained=study.note("untrained"),
        registration=study.note(REGISTRATION_NOTE) or (),
        trials=pd.DataFrame(),
        configurations=_drawn(stored, in_space_order(names, document.get("space")), document),
        epochs=_sorted(epochs, arms, ["epoch"]),
        curves=_curves(study, places) if study.note(CURVES_NOTE) else pd.DataFrame(),
        stopped=study.note(STOPPED_NOTE) or None,
        watched=_watched(study, document),
        # Only a search has final models; the report of a sweep need not wait for them.
        predictions=study.predictions("test") if document.get("search") else {},
        contradictions=found,
    )
    return replace(frames, trials=_sorted(_summarised(stored, frames), arms, []))


def with_outcomes(frames: StudyFrames, outcomes: Stored) -> StudyFrames:
    """The study with the `outcomes` section of another judgement of the same trials."""
    other = replace(frames, document={**frames.document, "outcomes": dict(outcomes)}, untrained=None)
    # The stored metric of a trial is that of its study's own judgement.
    stored = frames.trials.assign(metric=np.nan)
    return replace(other, trials=_sorted(_summarised(stored, other), frames.arms, []))


def _default_frames(drawn: StudyFrames, stored: pd.DataFrame, epochs: pd.DataFrame) -> StudyFrames:
    """The frames of the study with the trials of its default in place of those of the draws."""
    places = {str(task["label"]): place for place, task in enumerate(drawn.document.get("tasks") or ())}
    own = epochs[epochs["configuration"] == DEFAULT_CONFIGURATION]
    names = [str(name) for name in stored.columns[4 : stored.columns.get_loc("status")]]
    stored = _beside_each_other(stored, places)
    configurations = _drawn(stored, in_space_order(names, drawn.document.get("space")), drawn.document)
    frames = replace(
        drawn,
        trials=pd.DataFrame(),
        epochs=_sorted(_beside_each_other(own, places).drop(columns="task"), drawn.arms, ["epoch"]),
        configurations=configurations,
        curves=pd.DataFrame(),
    )
    return replace(frames, trials=_sorted(_summarised(stored, frames), drawn.arms, []))


def own_column(arm: str, name: str) -> str:
    """The column of a hyperparameter from the space of a single arm."""
    return f"{arm}: {name}"


def _beside_each_other(frame: pd.DataFrame, places: Mapping[str, int]) -> pd.DataFrame:
    """The frame with trials on different tasks as different replicates."""
    if not places:
        return frame
    later = frame["task"].map(places).fillna(0).astype("int64")
    return frame.assign(replicate=frame["replicate"].astype("int64") + TASK_BLOCK * later)


def _curves(study: StudyStore, places: Mapping[str, int]) -> pd.DataFrame:
    return _beside_each_other(study.curves(), places).drop(columns="task")


def _drawn(stored: pd.DataFrame, names: Sequence[str], document: Stored) -> pd.DataFrame:
    """The hyperparameters of each configuration, by its number; those of a single arm in a column that names it."""
    own = {str(arm["label"]): names_in(arm["space"]) for arm in document["arms"] if arm.get("space")}
    apart = set().union(*own.values()) if own else set()
    drawn = stored.drop_duplicates("configuration").set_index("configuration").sort_index()
    shared = drawn[[name for name in names if name not in apart]]
    columns = {
        own_column(arm, name): rows[name]
        for arm, own_names in own.items()
        for rows in [stored[stored["arm"] == arm].drop_duplicates("configuration").set_index("configuration")]
        for name in names
        if name in own_names and name in rows
    }
    return shared.assign(**columns) if columns else shared


def _watched(study: StudyStore, document: Stored) -> Stored | None:
    """The `stop` section, though it may since have been removed; {} for a sweep that stopped before it was noted."""
    if document.get("stop") or study.note(WATCHED_NOTE):
        terms: Stored = document.get("stop") or study.note(WATCHED_NOTE)
        return terms
    return {} if study.note(STOPPED_NOTE) else None


def is_missing(value: object) -> bool:
    """Whether a cell of a frame is None, NaN or <NA>."""
    return value is None or value is pd.NA or value != value


def _summarised(stored: pd.DataFrame, frames: StudyFrames) -> pd.DataFrame:
    """The store's trials with the summaries of their epochs."""
    number, best, last = summaries(frames.trained(frames.metric_column), KEY, frames.metric_column, frames.goal)
    search = (stored["configuration"] // SEARCH_BLOCK).astype("Int64").where(stored["run"].notna())
    numbered = stored.assign(search=search)
    joined = numbered[[*KEY, "task", *_STAGE, "status", "metric", *_RAN]].astype(
        {"arm": "str", "configuration": "int64"}
    )
    joined = joined.merge(number, on=KEY, how="left")
    joined = joined.merge(best, on=KEY, how="left").merge(last, on=KEY, how="left")
    joined["epochs"] = joined["epochs"].fillna(0).astype("int64")
    for name in ("best", "last"):
        # An imported run may have a result and no epochs.
        only_metric = joined[name].isna() & (joined["epochs"] == 0) & (joined["metric"].abs() <= LARGEST)
        joined[name] = joined[name].astype("float64").where(~only_metric, joined["metric"])
        joined[f"{name}_epoch"] = joined[f"{name}_epoch"].astype("Int64")
    joined["measured"] = (joined["epochs"] > 0) | joined["metric"].notna()
    return joined[TRIAL_COLUMNS]


def _sorted(frame: pd.DataFrame, arms: list[str], further: list[str]) -> pd.DataFrame:
    """The frame sorted by configuration, replicate, the study's order of arms and then `further`."""
    codes, labels = pd.factorize(frame["arm"])
    known = {arm: place for place, arm in enumerate(arms)}
    places = np.array([known.get(str(label), len(arms)) for label in labels], dtype=int)
    keys = [*(frame[name] for name in reversed(further)), places[codes] if len(labels) else codes]
    order = np.lexsort([*keys, frame["replicate"], frame["configuration"]])
    if np.array_equal(order, np.arange(len(frame))):
        return frame.reset_index(drop=True)
    return frame.take(order).reset_index(drop=True)
