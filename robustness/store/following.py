"""Following a study that another process writes: each look reads only what is new since the last one.

No column counts changes, so a look asks for trials that run, ran at the last look, or have started or ended since, and
compares the number of trials in each status; if that differs (a trial was reset to planned), everything is read again.
Epochs are found by their primary key: those of the trials that changed, after the last one seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, or_, select

from robustness.store.hiding import complaint
from robustness.store.schema import MEASURES, epochs, trials
from robustness.store.study_store import StudyStore
from robustness.trial import PENDING, EpochResult, Stage, Status, TrialKey

LONGEST_ERROR = 2000
"""Characters of a trial's error that are read, from its end, which names the exception."""
CHUNK = 500
"""The number of rows that one statement names."""
MOST_CHANGES = 2000
"""If more trials have changed since the last look, their epochs are not followed."""

_COLUMNS = (
    *("status", "stage", "run", "attempts", "started", "ended", "seconds"),
    *("worker", "device", "metric", "metric_epoch"),
)


class FollowedTrial(NamedTuple):
    """A trial as the store has it."""

    row: int
    key: TrialKey
    status: Status
    stage: Stage
    run: int | None
    attempts: int
    started: float | None
    ended: float | None
    seconds: float | None
    worker: str | None
    device: str | None
    metric: float | None
    metric_epoch: int | None
    error: str | None
    """The end of its error, without passwords."""


@dataclass(frozen=True)
class News:
    """What one look found."""

    trials: Sequence[FollowedTrial]
    """Trials that are new or have changed."""
    everything: bool
    """Whether these are all trials, because earlier ones may no longer be as they were."""
    epochs: dict[int, list[EpochResult]] = field(default_factory=dict)
    """New epochs of trials, by row, in their order."""
    restarted: Collection[int] = ()
    """The rows of trials that began again: their earlier epochs no longer count."""


class Follower:
    """Follows the trials of a study, and the epochs of those that run or have just ended."""

    def __init__(self, study: StudyStore, measure: str) -> None:
        self._study = study
        self._measure = measure
        self.trials: dict[int, FollowedTrial] = {}
        self._counts: Counter[Status] = Counter()
        self._newest: dict[int, int] = {}
        """The last epoch seen of each trial whose epochs are followed."""

    def look(self) -> News:
        """Read what is new."""
        with self._study.reading() as (connection, study):
            counts = _counts(connection, study)
            changed = list(self._read(connection, study, self._since())) if self.trials else []
            after = self._counts.copy()
            for trial in changed:
                if trial.row in self.trials:
                    after[self.trials[trial.row].status] -= 1
                after[trial.status] += 1
            everything = not self.trials or +after != counts or self._went_back(changed)
            if everything:
                changed = list(self._read(connection, study, None))
                self.trials, self._newest = {}, {}
            restarted = [trial.row for trial in changed if self._restarted(trial)]
            for row in restarted:
                self._newest.pop(row, None)
            fresh = [trial for trial in changed if self.trials.get(trial.row) != trial]
            self.trials.update((trial.row, trial) for trial in fresh)
            self._counts = counts
            followed = {trial.row for trial in changed if trial.status == "running"}
            if not everything and len(fresh) <= MOST_CHANGES:
                followed |= {trial.row for trial in fresh if trial.started is not None}
            return News(fresh, everything, self._epochs(connection, followed), restarted)

    def epochs_of(self, rows: Collection[int]) -> dict[int, list[EpochResult]]:
        """All epochs of some trials, by row."""
        with self._study.reading() as (connection, _):
            return _epochs(connection, rows, self._measure)

    def _since(self) -> ColumnElement[bool]:
        """What may have changed since the last look."""
        known = self.trials.values()
        # Also within the last moments: a later commit may carry an earlier time.
        started = max((trial.started for trial in known if trial.started is not None), default=0.0) - 5.0
        ended = max((trial.ended for trial in known if trial.ended is not None), default=0.0) - 5.0
        running = [trial.row for trial in known if trial.status == "running"]
        return or_(
            trials.c.status == "running",
            trials.c.started > started,
            trials.c.ended > ended,
            trials.c.id > max(self.trials),
            trials.c.id.in_(running[:CHUNK]),
        )

    def _read(
        self, connection: Connection, study: int, condition: ColumnElement[bool] | None
    ) -> Iterator[FollowedTrial]:
        end = (
            func.substr(trials.c.error, -LONGEST_ERROR)
            if connection.dialect.name == "sqlite"
            else func.right(trials.c.error, LONGEST_ERROR)
        )
        key = [trials.c[name] for name in TrialKey._fields]
        statement = select(trials.c.id, *key, *(trials.c[name] for name in _COLUMNS), end)
        statement = statement.where(trials.c.study == study).order_by(trials.c.position, trials.c.id)
        size = len(key) + 1
        for row in connection.execute(statement if condition is None else statement.where(condition)):
            error = None if row[-1] is None else self._without_secrets(row[-1])
            # Two NaN are not equal, so such a trial would seem to change for ever.
            values: list[Any] = [None if value != value else value for value in row[size:-1]]
            yield FollowedTrial._make([row[0], TrialKey(*row[1:size]), *values, error])

    def _without_secrets(self, error: str) -> str:
        lines = error.strip().splitlines()
        return complaint(Exception(lines[-1]), self._study.url) if lines else ""

    def _went_back(self, changed: Iterable[FollowedTrial]) -> bool:
        """Whether a trial that had ended is to be run again."""
        return any(
            trial.status in PENDING and trial.row in self.trials and self.trials[trial.row].status not in PENDING
            for trial in changed
        )

    def _restarted(self, trial: FollowedTrial) -> bool:
        known = self.trials.get(trial.row)
        return known is not None and known.started is not None and known.started != trial.started

    def _epochs(self, connection: Connection, rows: Collection[int]) -> dict[int, list[EpochResult]]:
        found = _epochs(connection, rows, self._measure, self._newest)
        for row, results in found.items():
            self._newest[row] = results[-1].epoch
        for row in [row for row in self._newest if row not in rows]:
            del self._newest[row]
        return found


def _counts(connection: Connection, study: int) -> Counter[Status]:
    statement = select(trials.c.status, func.count()).where(trials.c.study == study).group_by(trials.c.status)
    return Counter({row[0]: row[1] for row in connection.execute(statement)})


def _epochs(
    connection: Connection, rows: Collection[int], measure: str, after: dict[int, int] | None = None
) -> dict[int, list[EpochResult]]:
    """The epochs of trials, each after the last one seen, with one measure."""
    column: Any = epochs.c[measure] if measure in MEASURES else epochs.c.measures
    wanted = sorted(rows)
    seen = after or {}
    found: dict[int, list[EpochResult]] = {}
    for place in range(0, len(wanted), CHUNK):
        part = wanted[place : place + CHUNK]
        new = [trial for trial in part if trial not in seen]
        conditions = [(epochs.c.trial == trial) & (epochs.c.epoch > seen[trial]) for trial in part if trial in seen]
        statement = (
            select(epochs.c.trial, epochs.c.epoch, epochs.c.pretraining, epochs.c.seconds, column)
            .where(or_(epochs.c.trial.in_(new), *conditions))
            .order_by(epochs.c.trial, epochs.c.epoch)
        )
        for trial, epoch, pretraining, seconds, content in connection.execute(statement):
            value = content if measure in MEASURES else (content or {}).get(measure)
            measures = {} if value is None else {measure: float(value)}
            found.setdefault(trial, []).append(EpochResult(epoch, measures, pretraining, seconds))
    return found
