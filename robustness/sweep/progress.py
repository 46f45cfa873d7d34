"""The state of a study under way: of a sweep, from the store and from the events of a running one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from robustness.errors import plural
from robustness.study.bundled import bundled_names
from robustness.sweep.failed_trials import FailedTrials, failed_trials
from robustness.sweep.outcomes import Outcome
from robustness.sweep.trial_judge import TrialJudge
from robustness.trial import COUNTED, ENDED, FUNCTION, IMPORTED, NO_RESULT, EpochResult, Status, TrialKey

if TYPE_CHECKING:
    from robustness.store.study_store import StudyStore

FAILURES: tuple[Status, ...] = (*NO_RESULT, "diverged", "pruned")
"""The statuses of trials that ended early, in the order in which they are listed."""


@dataclass(kw_only=True)
class Progress(ABC):
    """What sweeps and searches share: the status of each trial, the time left, and one line about both."""

    study: str
    metric: str
    states: dict[TrialKey, Status] = field(default_factory=dict)
    running: dict[TrialKey, EpochResult | None] = field(default_factory=dict)
    """The newest epoch of each running trial."""
    epoch_seconds: dict[str, tuple[int, float]] = field(default_factory=dict)
    """For each arm the number of timed epochs and their total duration."""
    errors: Mapping[TrialKey, str] = field(default_factory=dict)
    """The errors of ended trials."""

    @abstractmethod
    def tallies(self) -> dict[str, tuple[int, int]]:
        """How many pairs, runs or models have ended and are planned: `{"pairs": (3, 12)}`."""

    @abstractmethod
    def epochs_left(self) -> Mapping[str | None, int]:
        """How many epochs each arm still has to train; None stands for arms that are not known yet."""

    @abstractmethod
    def details(self) -> Mapping[str, Any]:
        """The part of the JSON that differs between sweeps and searches."""

    def trial_name(self, key: TrialKey) -> str:
        """A trial as people refer to it."""
        return str(key)

    def epochs_of(self, key: TrialKey) -> int | None:  # noqa: ARG002
        """The number of epochs of a trial, if it is known."""
        return None

    def outcomes_line(self) -> str:
        """The results so far, in a few words; empty if there are none."""
        return ""

    def how_to_reproduce(self, key: TrialKey) -> str:  # noqa: ARG002
        """The command that reruns a single trial; empty if there is none."""
        return ""

    def done(self) -> bool:
        """Whether every trial has ended, including those still to be planned."""
        return all(ended >= planned for ended, planned in self.tallies().values())

    def failures(self) -> dict[str, int]:
        """The number of trials for each way of ending early."""
        counts = Counter(self.states.values())
        return {status: counts[status] for status in FAILURES if counts[status]}

    def failed_trials(self) -> list[str]:
        """One line for each error that ended trials without a result, with the number of its trials."""
        return [self._failed_line(group) for group in failed_trials(self.states, self.errors)]

    def _failed_line(self, group: FailedTrials) -> str:
        first = group.trials[0]
        several = f"{len(group.trials):,} trials ({group.by_arm}), such as " if len(group.trials) > 1 else ""
        error = f": {group.error}" if group.error else ""
        return f"{in_words(group.status)}: {several}{self.trial_name(first)}{error}{self.how_to_reproduce(first)}"

    def seconds_left(self) -> float | None:
        """The work left, divided by the trials running at once; None until as many trials have ended as are running.

        Before that, few epochs are measured, and the first ones are slow.
        """
        work, ended = self.work_left(), sum(status in ENDED for status in self.states.values())
        return None if work is None or ended < len(self.running) else work / max(len(self.running), 1)

    def work_left(self) -> float | None:
        """The epochs left times the mean duration of an epoch of their arm: seconds of a worker."""
        measured = {arm: seconds / count for arm, (count, seconds) in self.epoch_seconds.items() if count}
        if not measured:
            return None
        mean = sum(measured.values()) / len(measured)
        left = self.epochs_left().items()
        return sum(epochs * (mean if arm is None else measured.get(arm, mean)) for arm, epochs in left)

    def add_epochs(self, arm: str, epochs: int, seconds: float) -> None:
        """Count timed epochs of an arm."""
        count, total = self.epoch_seconds.get(arm, (0, 0.0))
        self.epoch_seconds[arm] = count + epochs, total + seconds

    def line(self) -> str:
        """The whole state in one line."""
        tallies = " and ".join(f"{ended} of {planned} {noun}" for noun, (ended, planned) in self.tallies().items())
        now = [f"{self.study}: {tallies} done", f"{plural(len(self.running), 'trial')} running"]
        left = self.seconds_left()
        if left is not None and not self.done():
            now.append(f"about {duration(left)} left")
        failures = ", ".join(f"{count} {in_words(status)}" for status, count in self.failures().items())
        return "; ".join(part for part in (", ".join(now), self.outcomes_line(), failures) if part)

    def as_json(self) -> dict[str, Any]:
        """The whole state as plain values."""
        return {
            "study": self.study,
            **self.details(),
            "trials": dict(sorted(Counter(self.states.values()).items())),
            "running": [
                {"trial": str(key), "epoch": None if newest is None else newest.epoch}
                for key, newest in self.running.items()
            ],
            "seconds_left": self.seconds_left(),
            "failures": self.failures(),
        }


@dataclass(kw_only=True)
class SweepProgress(Progress):
    """The state of a sweep: pairs, outcomes so far, and the further trials of winners."""

    outcome: str | None
    """The study's primary outcome; None in a study without thresholds."""
    epochs: int | None
    """Epochs of a trial, if the study sets them."""
    outcomes: dict[TrialKey, Outcome | None] = field(default_factory=dict)
    any_ended: bool = False
    """Whether a trial has ended since this process began to watch."""
    winners: int | None = None
    """The largest number of further trials that winners can get; None in a study without winners."""
    trainable: str = ""
    """What trains the trials: a study of functions, or of imported runs, has no file to run again."""

    @staticmethod
    def of(store: StudyStore) -> SweepProgress:
        """The progress of a stored study."""
        document = store.document()
        judge = TrialJudge.of(store, document)
        progress = SweepProgress.before(store, document)
        for key, status, metric, *_ in store.results():
            progress.states[key] = status
            if status in ENDED:
                progress.outcomes[key] = judge.outcome(key, status, metric)
        for key, seconds in store.seconds().items():
            if progress.states[key] == "finished":
                progress.add_epochs(key.arm, progress.epochs or 1, seconds)
        newest = store.newest_epochs()
        progress.errors = store.errors()
        for key, status in progress.states.items():
            if status == "running":
                progress.running[key] = newest.get(key)
        return progress

    @staticmethod
    def before(store: StudyStore, document: Mapping[str, Any]) -> SweepProgress:
        """The progress of a stored study without its trials."""
        progress = SweepProgress(
            study=str(document["name"]),
            metric=str(document["outcomes"]["metric"]),
            outcome=document["outcomes"]["primary"],
            epochs=document["training"].get("epochs"),
            trainable=str(document.get("trainable", "")),
        )
        if document.get("winners"):
            # Loads pydantic, which would slow down `status` of all other studies.
            from robustness.sweep.winners import count_stored

            progress.winners = count_stored(document, store.configurations().values())
        return progress

    def pairs(self) -> tuple[int, int]:
        """How many pairs have ended, and how many are planned."""
        planned = {key: status for key, status in self.states.items() if self._drawn(key)}
        unfinished = {key._replace(arm="") for key, status in planned.items() if status not in ENDED}
        every = {key._replace(arm="") for key in planned}
        return len(every) - len(unfinished), len(every)

    def winners_trials(self) -> tuple[int, int]:
        """How many further trials of winners have ended, and how many are planned."""
        further = [status for key, status in self.states.items() if self._of_winner(key)]
        # If every trial of the plan failed, there is no winner.
        possible = any(status not in ENDED or status in COUNTED for status in self.states.values())
        return sum(status in ENDED for status in further), len(further) or (self.winners or 0) * possible

    def default_trials(self) -> tuple[int, int]:
        """How many trials of the default configuration have ended, and how many are planned."""
        own = [status for key, status in self.states.items() if key.of_default]
        return sum(status in ENDED for status in own), len(own)

    def tallies(self) -> dict[str, tuple[int, int]]:
        counts = {"pairs": self.pairs()}
        if self.default_trials()[1]:
            counts["trials of the default"] = self.default_trials()
        if self.winners is not None:
            counts["winners' trials"] = self.winners_trials()
        return counts

    def epochs_left(self) -> Mapping[str | None, int]:
        left: Counter[str | None] = Counter()
        for key, status in self.states.items():
            if status not in ENDED:
                newest = self.running.get(key)
                left[key.arm] += max((self.epochs or 1) - (newest.epoch if newest else 0), 0)
        if not any(self._of_winner(key) for key in self.states):
            left[None] = (self.winners or 0) * (self.epochs or 1)
        return left

    def _of_winner(self, key: TrialKey) -> bool:
        """Whether it is a further trial of a winner: the plan of a study with winners has one replicate only."""
        return self.winners is not None and key.replicate > 0

    def _drawn(self, key: TrialKey) -> bool:
        """Whether it counts for the fractions: a planned trial of a configuration that was drawn."""
        return not key.of_default and not self._of_winner(key)

    def drawn(self) -> set[TrialKey]:
        """The trials that count for the fractions once they have a result."""
        return {key for key in self.states if self._drawn(key)}

    def fractions(self) -> dict[str, tuple[int, int]]:
        """For each arm the number of trials with the primary outcome, and of all trials that count."""
        counts = {key.arm: (0, 0) for key in self.states}
        for key, outcome in self.outcomes.items():
            if outcome is not None and self._drawn(key):
                shown, counted = counts[key.arm]
                counts[key.arm] = shown + (outcome == self.outcome), counted + 1
        return counts

    def outcomes_line(self) -> str:
        if self.outcome is None:
            return ""
        shares = [f"{arm} {shown} of {counted}" for arm, (shown, counted) in self.fractions().items() if counted]
        replicated = any(key.replicate > 0 and self._drawn(key) for key in self.states)
        trials = " trials" if replicated else ""
        return f"{in_words(self.outcome)}: {', '.join(shares)}{trials}" if shares else ""

    def epochs_of(self, key: TrialKey) -> int | None:  # noqa: ARG002
        return self.epochs

    def how_to_reproduce(self, key: TrialKey) -> str:
        if self.trainable == IMPORTED:
            return ""
        if self.trainable == FUNCTION:
            return " (to reproduce: make the same call of rb.sweep with retry=True, inline=True)"
        name = self.study if self.study in bundled_names("studies") else "STUDY.yaml"
        return f" (to reproduce: robustness sweep {name} --only {key} --inline)"

    def details(self) -> Mapping[str, Any]:
        counts = {"pairs": self.pairs()}
        if self.default_trials()[1]:
            counts["default"] = self.default_trials()
        if self.winners is not None:
            counts["winners"] = self.winners_trials()
        shares = {arm: {"shown": shown, "counted": counted} for arm, (shown, counted) in self.fractions().items()}
        return {
            **{name: {"done": ended, "all": planned} for name, (ended, planned) in counts.items()},
            **({} if self.outcome is None else {self.outcome: shares}),
        }

    def keep_only(self, keys: Iterable[TrialKey]) -> None:
        """Leave out all other trials, which run elsewhere."""
        kept = set(keys)
        self.states = {key: status for key, status in self.states.items() if key in kept}
        self.winners = None

    def planned(self, keys: Iterable[TrialKey]) -> None:
        """Trials have been added to the plan."""
        self.states.update(dict.fromkeys(keys, "planned"))

    def started(self, key: TrialKey) -> None:
        """A trial has started."""
        self.states[key] = "running"
        self.running[key] = None

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        """A trial has finished an epoch."""
        first = key in self.running and self.running[key] is None
        self.running[key] = result
        # The first epochs of fresh workers include what they load.
        warm = self.any_ended or not first or self.epochs == 1
        if self.epochs is not None and warm:
            self.add_epochs(key.arm, 1, result.seconds)

    def ended(self, key: TrialKey, status: Status, outcome: Outcome | None, seconds: float) -> None:
        """A trial has ended."""
        self.any_ended = True
        self.states[key] = status
        self.outcomes[key] = outcome
        self.running.pop(key, None)
        if self.epochs is None:
            self.add_epochs(key.arm, 1, seconds)


def in_words(name: str) -> str:
    """A status or outcome as text: `timed out`."""
    return name.replace("_", " ")


def duration(seconds: float) -> str:
    """A duration in its natural unit: `90 s`, `10 min`, `3.0 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"
