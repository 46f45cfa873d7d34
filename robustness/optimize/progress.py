"""How far a search is, from the store: the runs and final models of each arm, and its best score so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from robustness.metrics import OBJECTIVES
from robustness.optimize.ensembles import ensemble_size, final_models, members_among
from robustness.study.arms import Arm
from robustness.sweep.progress import in_words, running_json, running_table
from robustness.trial import ENDED, NO_RESULT, EpochResult, Stage, Status, TrialKey

if TYPE_CHECKING:
    from rich.console import RenderableType

    from robustness.store.study_store import StudyStore


@dataclass
class ArmProgress:
    """How far one arm is."""

    runs: int
    """How many runs it gets; none for an ensemble made of another arm's models."""
    final_models: int
    made_of: str | None = None
    """The arm whose models an ensemble is made of."""
    ended: Counter[Stage] = field(default_factory=Counter)
    best: float | None = None
    """The best score of a finished run."""
    best_run: int | None = None
    """That run's number, counted from 1."""


@dataclass
class SearchProgress:
    """What the store knows of a search and its final models."""

    study: str
    metric: str
    arms: dict[str, ArmProgress]
    epochs: dict[Stage, int]
    """Epochs of a run and of a final model; 1 where the study does not say."""
    states: dict[TrialKey, Status] = field(default_factory=dict)
    running: dict[TrialKey, EpochResult | None] = field(default_factory=dict)
    epoch_seconds: dict[str, tuple[int, float]] = field(default_factory=dict)
    """For each arm how many epochs of finished trials were measured, and how long they took together."""
    runs: dict[TrialKey, tuple[Stage, int]] = field(default_factory=dict)
    """The stage of each trial, and the run of its arm's search, from 0."""

    @staticmethod
    def of(store: StudyStore) -> SearchProgress:
        """The progress of a study with `search` as the store has it."""
        progress = _planned(store.document())
        seconds, newest = store.seconds(), store.newest_epochs()
        models: Counter[tuple[str, int]] = Counter()
        for key, status, score, stage, run in store.results():
            # An arm that the study no longer has keeps its trials in the store.
            if key.arm not in progress.arms or run is None:
                continue
            arm = progress.arms[key.arm]
            progress.runs[key] = stage, run
            progress.states[key] = status
            if status == "running":
                progress.running[key] = newest.get(key)
            if stage == "final":
                models[key.arm, run + 1] += status in ENDED
            else:
                arm.ended["search"] += status in ENDED
            if status == "finished" and stage == "search" and score is not None and score > (arm.best or -1e300):
                arm.best, arm.best_run = score, run + 1
            # An ensemble of trained members takes no time.
            if status == "finished" and seconds.get(key):
                count, total = progress.epoch_seconds.get(key.arm, (0, 0.0))
                progress.epoch_seconds[key.arm] = count + progress.epochs[stage], total + seconds[key]
        for label, arm in progress.arms.items():
            # Models of a run that was the best before further runs were made are not those of the study any more.
            best = progress.arms[arm.made_of or label].best_run
            arm.ended["final"] = 0 if best is None else models[label, best]
        return progress

    def counts(self, stage: Stage) -> tuple[int, int]:
        """How many runs of the search, or final models, have ended, of how many."""
        ended = sum(arm.ended[stage] for arm in self.arms.values())
        return ended, sum(arm.runs if stage == "search" else arm.final_models for arm in self.arms.values())

    def done(self) -> bool:
        """Whether every run and final model has ended."""
        return all(ended >= every for ended, every in (self.counts("search"), self.counts("final")))

    def seconds_left(self) -> float | None:
        """The epochs that are left times how long an epoch of the arm took, over the trials that run at once."""
        measured = {arm: seconds / count for arm, (count, seconds) in self.epoch_seconds.items()}
        if not measured:
            return None
        usual = sum(measured.values()) / len(measured)
        work = 0.0
        for label, arm in self.arms.items():
            left = max(arm.runs - arm.ended["search"], 0) * self.epochs["search"]
            # Ensembles without runs of their own are made of models that other arms train.
            if arm.runs:
                left += max(arm.final_models - arm.ended["final"], 0) * self.epochs["final"]
            left -= sum(newest.epoch for key, newest in self.running.items() if newest and key.arm == label)
            work += max(left, 0) * measured.get(label, usual)
        return work / max(len(self.running), 1)

    def failures(self) -> dict[str, int]:
        """How many trials ended in each way that is not a result."""
        counts = Counter(self.states.values())
        ways: tuple[Status, ...] = (*NO_RESULT, "diverged", "pruned")
        return {status: counts[status] for status in ways if counts[status]}

    def complaints(self) -> list[str]:
        """A line for each trial without a result."""
        return [
            f"{status.replace('_', ' ')}: {self.trial_name(key)}"
            for key, status in self.states.items()
            if status in NO_RESULT
        ]

    def trial_name(self, key: TrialKey) -> str:
        """`radial, run 3` or `radial, final model 1`."""
        stage, run = self.runs[key]
        return f"{key.arm}, run {run + 1}" if stage == "search" else f"{key.arm}, final model {key.replicate + 1}"

    def line(self) -> str:
        """The whole state in one line."""
        (runs, all_runs), (models, all_models) = self.counts("search"), self.counts("final")
        parts = [f"{self.study}: {runs} of {all_runs} runs"]
        if all_models:
            parts.append(f"{models} of {all_models} final models")
        parts.append(f"{len(self.running)} trials running")
        left = self.seconds_left()
        if left is not None and not self.done():
            parts.append(f"about {in_words(left)} left")
        parts += [f"{count} {status.replace('_', ' ')}" for status, count in self.failures().items()]
        return ", ".join(parts)

    def table(self) -> RenderableType:
        """The whole state as a block for a terminal."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        rows = Table("arm", "runs", f"best {self.metric}", "in run", "final models", box=None, pad_edge=False)
        for label, arm in self.arms.items():
            rows.add_row(
                Text(label),
                f"{arm.ended['search']} of {arm.runs}" if arm.runs else "-",
                "-" if arm.best is None else f"{arm.best:.3f}",
                "-" if arm.best_run is None else str(arm.best_run),
                f"{arm.ended['final']} of {arm.final_models}" if arm.final_models else "-",
            )
        running = {self.trial_name(key): newest for key, newest in self.running.items()}
        return Group(Text(self.line()), rows, *running_table(running, self.metric, None))

    def as_json(self) -> Mapping[str, Any]:
        """The whole state as plain values."""
        return {
            "study": self.study,
            "objective": self.metric,
            "arms": {
                label: {
                    "runs": {"done": arm.ended["search"], "all": arm.runs},
                    "best": arm.best,
                    "best_run": arm.best_run,
                    "final_models": {"done": arm.ended["final"], "all": arm.final_models},
                }
                for label, arm in self.arms.items()
            },
            "trials": dict(sorted(Counter(self.states.values()).items())),
            "running": running_json(self.running),
            "seconds_left": self.seconds_left(),
            "failures": self.failures(),
        }


def _planned(document: Mapping[str, Any]) -> SearchProgress:
    """The progress of a search of which nothing has run yet."""
    search, finals = document["search"], document.get("finals")
    arms = [Arm(arm["label"], arm["method"], arm["options"]) for arm in document["arms"]]
    members = members_among(arms, {*search["spaces"], *search["models"]})
    wanted = finals["arms"] if finals else None
    models = final_models(arms, members, wanted, finals["replicates"]) if finals else {}
    planned: dict[str, ArmProgress] = {}
    for arm in arms:
        count = models.get(arm.label, 0)
        if finals and arm.label in members and (wanted is None or arm.label in wanted):
            count = models[members[arm.label]] // ensemble_size(arm)
        made_of = members.get(arm.label)
        planned[arm.label] = ArmProgress(0 if made_of else search["runs"], count, made_of)
    epochs = int(document["training"].get("epochs") or 1)
    return SearchProgress(
        study=str(document["name"]),
        metric=OBJECTIVES.get(search["objective"], str(document["outcomes"]["metric"])),
        arms=planned,
        epochs={"search": int(search["epochs"] or epochs), "final": epochs},
    )
