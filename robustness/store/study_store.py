"""One study in the store: its trials, frames, notes and predictions, its lock and its writer."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import URL, Connection, Select, delete, func, select

from robustness.errors import StoreError
from robustness.store.checksums import of_json, verified
from robustness.store.connection import Database, file_beside
from robustness.store.fence import Fence
from robustness.store.locks import is_locked, sweep_lock
from robustness.store.registering import add_trials, next_configuration, next_position
from robustness.store.schema import MEASURES, configurations, epochs, notes, predictions, studies, trials
from robustness.store.statements import reopen, upsert
from robustness.store.writer import Writer
from robustness.trial import PENDING, EpochResult, Stage, Status, Trial, TrialKey

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd


class StoredTrial(NamedTuple):
    """The state of a trial in the store."""

    key: TrialKey
    status: Status
    metric: float | None
    """The study's metric at the epoch that judges the trial."""
    stage: Stage
    run: int | None


class StudyStore:
    """A study in the store, returned by `Store.study` and `Store.register`."""

    def __init__(self, database: Database, row: int, name: str, created: float) -> None:
        self.name = name
        self._database = database
        self._row = row
        self._created = created
        self._fence = Fence(database, row, name, created)

    def __repr__(self) -> str:
        return f"StudyStore({self.name!r} in {self._database.shown!r})"

    def document(self) -> dict[str, Any]:
        """The study file with all defaults, as last registered."""
        document: dict[str, Any] = self._study_value("document")
        checksum = self._study_value("checksum")
        verified(document, checksum, f"the document of study {self.name!r}")
        return document

    def provenance(self) -> dict[str, Any]:
        """`hash`, `seed`, `versions`, `git_commit`, `hardware` and `created` (seconds since 1970) of the study."""
        names = ("hash", "seed", "versions", "git_commit", "hardware", "created")
        return {name: self._study_value(name) for name in names}

    def trials(self) -> pd.DataFrame:
        """One row for each trial, in the plan's order (columns: `robustness.store.reading`)."""
        return self._frame("trials")

    def epochs(self) -> pd.DataFrame:
        """One row for each epoch of each trial (columns: `robustness.store.reading`)."""
        return self._frame("epochs")

    def curves(self) -> pd.DataFrame:
        """One row for each curve of each epoch (columns: `robustness.store.reading`)."""
        return self._frame("curves")

    def pending(self) -> list[TrialKey]:
        """The trials that have not ended, in the plan's order."""
        return [key for key, status in self.states().items() if status in PENDING]

    def states(self) -> dict[TrialKey, Status]:
        """The status of each trial, in the plan's order."""
        with self._database.read() as connection:
            rows = connection.execute(self._of_trials(trials.c.status)).all()
        return {TrialKey(*key): status for *key, status in rows}

    def results(self) -> list[StoredTrial]:
        """The state of each trial, in the plan's order."""
        columns = (trials.c.status, trials.c.metric, trials.c.stage, trials.c.run)
        with self._database.read() as connection:
            rows = connection.execute(self._of_trials(*columns)).all()
        size = len(TrialKey._fields)
        return [StoredTrial(TrialKey(*row[:size]), *row[size:]) for row in rows]

    def configurations(self) -> dict[int, dict[str, Any]]:
        """The hyperparameters of each configuration, by its number."""
        statement = select(configurations.c.number, configurations.c.hyperparameters, configurations.c.checksum)
        with self._database.read() as connection:
            rows = connection.execute(statement.where(configurations.c.study == self._row)).all()
        return {row.number: verified(row.hyperparameters, row.checksum, f"configuration {row.number}") for row in rows}

    def own_hyperparameters(self) -> dict[TrialKey, dict[str, Any]]:
        """The hyperparameters of each trial that come from its arm's own space, where it has one."""
        statement = self._of_trials(trials.c.own, trials.c.own_checksum).where(trials.c.own.is_not(None))
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return {TrialKey(*key): verified(own, seal, f"trial {TrialKey(*key)}") for *key, own, seal in rows}

    def counts(self) -> dict[Status, int]:
        """The number of trials for each status that occurs."""
        statement = (
            select(trials.c.status, func.count().label("number"))
            .where(trials.c.study == self._row)
            .group_by(trials.c.status)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return {row.status: row.number for row in rows}

    def seconds(self) -> dict[TrialKey, float]:
        """The duration of each ended trial, if it is known."""
        statement = self._of_trials(trials.c.seconds).where(trials.c.seconds.is_not(None))
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return {TrialKey(*key): seconds for *key, seconds in rows}

    def errors(self) -> dict[TrialKey, str]:
        """The error of each trial that has one."""
        statement = self._of_trials(trials.c.error).where(trials.c.error.is_not(None))
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return {TrialKey(*key): error for *key, error in rows}

    def newest_epochs(self) -> dict[TrialKey, EpochResult]:
        """The newest epoch of each running trial that has one."""
        newest = (
            select(epochs.c.trial, func.max(epochs.c.epoch).label("epoch"))
            .join(trials, trials.c.id == epochs.c.trial)
            .where(trials.c.study == self._row, trials.c.status == "running")
            .group_by(epochs.c.trial)
            .subquery()
        )
        columns = (epochs.c.epoch, epochs.c.pretraining, epochs.c.seconds, epochs.c.measures)
        statement = (
            self._of_trials(*columns, *(epochs.c[name] for name in MEASURES))
            .join(epochs, epochs.c.trial == trials.c.id)
            .join(newest, (newest.c.trial == epochs.c.trial) & (newest.c.epoch == epochs.c.epoch))
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        results = {}
        for row in rows:
            *key, epoch, pretraining, seconds, other = row[: -len(MEASURES)]
            named = zip(MEASURES, row[-len(MEASURES) :], strict=True)
            measures = {name: value for name, value in named if value is not None} | (other or {})
            results[TrialKey(*key)] = EpochResult(epoch, measures, pretraining, seconds)
        return results

    def values(self, measure: str) -> dict[TrialKey, dict[int, float]]:
        """The finite values of a measure after pre-training, by trial and epoch."""
        column = epochs.c[measure] if measure in MEASURES else epochs.c.measures
        statement = (
            self._of_trials(epochs.c.epoch, column)
            .join(epochs, epochs.c.trial == trials.c.id)
            .where(~epochs.c.pretraining)
            .order_by(epochs.c.epoch)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        values: dict[TrialKey, dict[int, float]] = {}
        for *key, epoch, content in rows:
            value = content if measure in MEASURES else (content or {}).get(measure)
            if value is not None and math.isfinite(value):
                values.setdefault(TrialKey(*key), {})[epoch] = value
        return values

    def starts(self, measure: str) -> dict[TrialKey, float]:
        """The measure of each trial's untrained network, where its start was recorded as epoch 0."""
        column = epochs.c[measure] if measure in MEASURES else epochs.c.measures
        statement = self._of_trials(column).join(epochs, epochs.c.trial == trials.c.id).where(epochs.c.epoch == 0)
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        starts = {}
        for *key, content in rows:
            value = content if measure in MEASURES else (content or {}).get(measure)
            if value is not None:
                starts[TrialKey(*key)] = float(value)
        return starts

    def measured_without_metric(self) -> set[TrialKey]:
        """The finished trials whose epochs never had a finite metric."""
        statement = (
            self._of_trials()
            .join(epochs, epochs.c.trial == trials.c.id)
            .where(trials.c.status == "finished", trials.c.metric.is_(None), ~epochs.c.pretraining)
        )
        with self._database.read() as connection:
            rows = connection.execute(statement).all()
        return {TrialKey(*row) for row in rows}

    def add(self, further: Iterable[Trial]) -> None:
        """Append trials to the plan, for a study whose trials are not all known at the start."""
        with self._write() as connection:
            first = next_position(connection, self._row)
            add_trials(connection, self._row, self.name, further, first)

    def next_configuration(self, search: int = 0) -> int:
        """The next free number for a configuration of a search, counted from 0."""
        with self._database.read() as connection:
            return next_configuration(connection, self._row, search)

    def reopen(self, statuses: Collection[Status], arms: Collection[str] | None = None) -> int:
        """Reset trials with these statuses, of all arms or of some, to planned; returns how many there are.

        Their results are deleted.
        """
        self._claim()
        with self._write() as connection:
            return reopen(connection, self._row, statuses, arms)

    def plan_again(self) -> None:
        """Reset running trials to planned, as none of them runs any more; does nothing if the store is away."""
        with suppress(StoreError):
            self.reopen(["running"])

    def is_locked(self) -> bool:
        """Whether a sweep of the study is running, in this or another process."""
        return is_locked(self._database, self.name)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """A lock against a second sweep of the study; entering raises StoreError if another process holds it.

        Its holder alone can write the study. Entering saves the results of an earlier outage.
        """
        with sweep_lock(self._database, self.name) as lock:
            self._fence.claim()
            self._fence.lock = lock
            try:
                if self.spill.exists():
                    self.writer().close()
                yield
            finally:
                self._fence.release()

    def writer(self, **options: Any) -> Writer:
        """A writer for a sweep of this study (options: `Writer`); it first saves the results of an earlier outage.

        Without the lock, it takes the study from every earlier writer.
        """
        self._claim()
        head = {"study": self.name, "created": self._created}
        return Writer(self._database, self._row, head, self._fence, **{"spill": self.spill, **options})

    @contextmanager
    def reading(self) -> Iterator[tuple[Connection, int]]:
        """A transaction that only reads, and the study's row."""
        with self._database.read() as connection:
            yield connection, self._row

    @property
    def url(self) -> URL:
        """The URL of the store including its password: not for messages."""
        return self._database.url

    @property
    def spill(self) -> Path:
        """The file for results that could not be saved during a long outage."""
        return file_beside(self._database.url, f"{self.name}.unsaved.jsonl")

    def save_note(self, name: str, content: Any) -> None:
        """Save a note of the study, any JSON value, replacing an earlier one of that name."""
        row = {"study": self._row, "name": name, "content": content, "checksum": of_json(content)}
        with self._write() as connection:
            connection.execute(upsert(self._database.dialect, notes), row)

    def note(self, name: str) -> Any:
        """The note of that name; None if there is none."""
        columns = (notes.c.content, notes.c.checksum)
        statement = select(*columns).where(notes.c.study == self._row, notes.c.name == name)
        with self._database.read() as connection:
            row = connection.execute(statement).first()
        return None if row is None else verified(row.content, row.checksum, f"note {name!r}")

    def save_predictions(
        self, key: TrialKey, split: str, arrays: Mapping[str, npt.ArrayLike], model: str = "final"
    ) -> None:
        """Save the predictions of a trial's model for a split, replacing earlier ones.

        `arrays` have any names: `labels` [n], `patients` [n], `probabilities` [samples, n, classes], ...
        """
        from robustness.store.arrays import pack  # numpy, which most commands do without

        content = {name: pack(array) for name, array in arrays.items()}
        with self._write() as connection:
            trial = connection.scalar(
                select(trials.c.id).where(
                    trials.c.study == self._row, *(trials.c[name] == value for name, value in key._asdict().items())
                )
            )
            if trial is None:
                raise StoreError(f"trial {key} is not in the plan of study {self.name!r}")
            owner = {"trial": trial, "split": split, "model": model}
            same = [predictions.c[name] == value for name, value in owner.items()]
            connection.execute(delete(predictions).where(*same))
            rows = [{**owner, "name": name, "content": packed} for name, packed in content.items()]
            if rows:
                connection.execute(upsert(self._database.dialect, predictions), rows)

    def predictions(self, split: str, model: str = "final") -> dict[TrialKey, dict[str, npt.NDArray[Any]]]:
        """The arrays saved by `save_predictions` for this split and model, by trial in the plan's order."""
        from robustness.store.arrays import unpack  # numpy, which most commands do without

        statement = (
            self._of_trials(predictions.c.name, predictions.c.content)
            .join(predictions, predictions.c.trial == trials.c.id)
            .where(predictions.c.split == split, predictions.c.model == model)
            .order_by(predictions.c.name)
        )
        arrays: dict[TrialKey, dict[str, npt.NDArray[Any]]] = {}
        with self._database.read() as connection:
            for *key, name, content in connection.execute(statement):
                arrays.setdefault(TrialKey(*key), {})[name] = unpack(content)
        return arrays

    def _claim(self) -> None:
        if self._fence.token is None:
            self._fence.claim()

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._database.errors_translated(), self._fence.transaction() as connection:
            yield connection

    def _frame(self, kind: Literal["trials", "epochs", "curves"]) -> pd.DataFrame:
        # Loads pandas, which `status` and a sweep do without.
        from robustness.store import reading

        read = {"trials": reading.trials_frame, "epochs": reading.epochs_frame, "curves": reading.curves_frame}[kind]
        with self._database.read() as connection:
            return read(connection, self._row)

    def _of_trials(self, *columns: Any) -> Select[Any]:
        key = (trials.c[name] for name in TrialKey._fields)
        return select(*key, *columns).where(trials.c.study == self._row).order_by(trials.c.position, trials.c.id)

    def _study_value(self, column: str) -> Any:
        with self._database.read() as connection:
            return connection.scalar(select(studies.c[column]).where(studies.c.id == self._row))
