"""The state of a search, from the store: the runs and final models of each arm, and its best score so far.

With several searches, the runs and final models of an arm are those of all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from robustness.goal import MAXIMIZE, Goal, goal_in
from robustness.optimize.ensembles import ensemble_size, final_models, members_in
from robustness.study.arms import Arm
from robustness.sweep.progress import Progress
from robustness.trial import ENDED, Stage, TrialKey

if TYPE_CHECKING:
    from robustness.store.study_store import StudyStore


@dataclass
class ArmProgress:
    """The state of one arm."""

    runs: int
    """The number of its runs; 0 for an ensemble made of another arm's models."""
    final_models: int
    made_of: str | None = None
    """The arm whose models an ensemble is made of."""
    ended: Counter[Stage] = field(default_factory=Counter)
    goal: Goal = MAXIMIZE
    winners: dict[int, tuple[float, int]] = field(default_factory=dict)
    """For each search, from 0, with a finished run: the best score and the number of its run, from 1."""

    @property
    def winner(self) -> tuple[float, int, int] | None:
        """The best score of all searches, its search and its run, from 1; the first if several are equal."""
        found = [(score, search + 1, run) for search, (score, run) in sorted(self.winners.items())]
        return max(found, key=lambda each: self.goal.oriented(each[0]), default=None)

    @property
    def best(self) -> float | None:
        """The best score of a finished run."""
        return None if self.winner is None else self.winner[0]


@dataclass(kw_only=True)
class SearchProgress(Progress):
    """The state of a search: the runs and final models of each arm, and its best score so far."""

    arms: dict[str, ArmProgress]
    searches: int
    """How many times each arm is searched."""
    epochs: dict[Stage, int]
    """Epochs of a run and of a final model; 1 if the study does not set them."""
    runs: dict[TrialKey, tuple[Stage, int]] = field(default_factory=dict)
    """The stage of each trial, and the run of its arm's search, from 0."""

    @staticmethod
    def of(store: StudyStore) -> SearchProgress:
        """The progress of a stored study with `search`."""
        progress = _planned(store.document())
        seconds, newest = store.seconds(), store.newest_epochs()
        progress.errors = store.errors()
        models: Counter[tuple[str, int, int]] = Counter()
        for key, status, score, stage, run in store.results():
            # Arms that were removed from the study still have trials in the store.
            if key.arm not in progress.arms or run is None:
                continue
            arm = progress.arms[key.arm]
            progress.runs[key] = stage, run
            progress.states[key] = status
            if status == "running":
                progress.running[key] = newest.get(key)
            if stage == "final":
                models[key.arm, key.search, run + 1] += status in ENDED
            else:
                arm.ended["search"] += status in ENDED
            if status == "finished" and stage == "search" and score is not None:
                best = arm.winners.get(key.search)
                if best is None or arm.goal.better(score, best[0]):
                    arm.winners[key.search] = score, run + 1
            # An ensemble of trained members takes no time.
            if status == "finished" and seconds.get(key):
                progress.add_epochs(key.arm, progress.epochs[stage], seconds[key])
        for label, arm in progress.arms.items():
            # Models of a run that further runs have surpassed no longer belong to the study.
            best_runs = progress.arms[arm.made_of or label].winners
            arm.ended["final"] = sum(models[label, search, run] for search, (_, run) in best_runs.items())
        return progress

    def counts(self, stage: Stage) -> tuple[int, int]:
        """How many runs of the search, or final models, have ended, and how many are planned."""
        ended = sum(arm.ended[stage] for arm in self.arms.values())
        return ended, sum(arm.runs if stage == "search" else arm.final_models for arm in self.arms.values())

    def tallies(self) -> dict[str, tuple[int, int]]:
        runs, models = self.counts("search"), self.counts("final")
        return {"runs": runs, "final models": models} if models[1] else {"runs": runs}

    def epochs_left(self) -> Mapping[str | None, int]:
        left: dict[str | None, int] = {}
        for label, arm in self.arms.items():
            epochs = max(arm.runs - arm.ended["search"], 0) * self.epochs["search"]
            # An ensemble without runs consists of models that another arm trains.
            if arm.runs:
                epochs += max(arm.final_models - arm.ended["final"], 0) * self.epochs["final"]
            trained = sum(newest.epoch for key, newest in self.running.items() if newest and key.arm == label)
            left[label] = max(epochs - trained, 0)
        return left

    def trial_name(self, key: TrialKey) -> str:
        """`radial, run 3` or `radial, final model 1`; with several searches `radial, search 2, run 3`."""
        stage, run = self.runs[key]
        arm = f"{key.arm}, search {key.search + 1}" if self.searches > 1 else key.arm
        return f"{arm}, run {run + 1}" if stage == "search" else f"{arm}, final model {key.replicate + 1}"

    def details(self) -> Mapping[str, Any]:
        return {
            "objective": self.metric,
            "searches": self.searches,
            "arms": {
                label: {
                    "runs": {"done": arm.ended["search"], "all": arm.runs},
                    "best": arm.best,
                    "best_run": None if arm.winner is None else arm.winner[2],
                    "best_search": None if arm.winner is None else arm.winner[1],
                    "final_models": {"done": arm.ended["final"], "all": arm.final_models},
                }
                for label, arm in self.arms.items()
            },
        }


def _planned(document: Mapping[str, Any]) -> SearchProgress:
    """The progress of a search before its first run."""
    search, finals = document["search"], document.get("finals")
    arms = [Arm(arm["label"], arm["method"], arm["options"]) for arm in document["arms"]]
    members = members_in(document)
    wanted = finals["arms"] if finals else None
    models = final_models(arms, members, wanted, finals["replicates"]) if finals else {}
    searches = int(finals.get("searches", 1)) if finals else 1
    planned: dict[str, ArmProgress] = {}
    metric, goal = _objective(document)
    for arm in arms:
        count = models.get(arm.label, 0)
        if finals and arm.label in members and (wanted is None or arm.label in wanted):
            count = models[members[arm.label]] // ensemble_size(arm)
        made_of = members.get(arm.label)
        planned[arm.label] = ArmProgress(
            0 if made_of else searches * search["runs"], searches * count, made_of, goal=goal
        )
    epochs = int(document["training"].get("epochs") or 1)
    return SearchProgress(
        study=str(document["name"]),
        metric=metric,
        arms=planned,
        searches=searches,
        epochs={"search": int(search["epochs"] or epochs), "final": epochs},
    )


def _objective(document: Mapping[str, Any]) -> tuple[str, Goal]:
    """Return the metric that the search of a study's document optimises, and its goal."""
    objective = document["search"]["objective"]
    if objective is None:
        return str(document["outcomes"]["metric"]), goal_in(document)
    # Loads numpy, which `status` otherwise does without.
    from robustness.metrics import OBJECTIVES, objective_goal

    return OBJECTIVES[objective], objective_goal(objective)
