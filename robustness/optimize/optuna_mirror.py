"""The runs of a search in Optuna's own tables of the same database, for `optuna-dashboard` and other tools of Optuna.

They are a copy: the search never reads them, and a database that is busy (a dashboard reads it) only delays the copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from optuna.exceptions import DuplicatedStudyError, OptunaError
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import URL, event
from sqlalchemy.exc import SQLAlchemyError

from robustness.optimize.proposals import Run, frozen, quiet
from robustness.space.space import Space
from robustness.store.connection import BUSY_SECONDS, sqlite_file
from robustness.trial import ENDED


class OptunaTables:
    """Optuna's studies `STUDY/ARM`, one for each arm."""

    def __init__(self, storage: RDBStorage | None, study: str, metric: str) -> None:
        self._storage = storage
        self._study = study
        self._metric = metric
        self._numbers: dict[str, int] = {}
        self._shown: dict[str, list[tuple[int, bool]]] = {}
        """For each arm the rows of the runs that are there, and whether they have ended."""

    def show(self, arm: str, space: Space, runs: Sequence[Run]) -> bool:
        """Bring the arm's study up to date; False if the database would not have it now."""
        if self._storage is None:
            return False
        try:
            with quiet():
                self._show(self._storage, arm, space, runs)
        except (SQLAlchemyError, OptunaError):
            # What is there is read anew the next time.
            self._shown.pop(arm, None)
            self._storage.remove_session()
            return False
        return True

    def _show(self, storage: RDBStorage, arm: str, space: Space, runs: Sequence[Run]) -> None:
        if arm not in self._shown:
            self._numbers[arm] = _find_study(storage, f"{self._study}/{arm}")
            there = storage.get_all_trials(self._numbers[arm], deepcopy=False)
            self._shown[arm] = [(trial._trial_id, trial.state.is_finished()) for trial in there]
        shown = self._shown[arm]
        for run in runs:
            ended = run.status in ENDED
            if run.number >= len(shown):
                trial = self._frozen(run, space, runs)
                shown.append((storage.create_new_trial(self._numbers[arm], trial), ended))
            elif ended and not shown[run.number][1]:
                row = shown[run.number][0]
                trial = self._frozen(run, space, runs)
                for name, value in trial.system_attrs.items():
                    storage.set_trial_system_attr(row, name, value)
                for epoch, value in run.values.items():
                    storage.set_trial_intermediate_value(row, epoch, value)
                storage.set_trial_user_attr(row, "status", run.status)
                storage.set_trial_state_values(row, trial.state, trial.values)
                shown[run.number] = row, True

    def _frozen(self, run: Run, space: Space, runs: Sequence[Run]) -> FrozenTrial:
        """A run as people should see it: one that was pruned is not complete, as samplers are told."""
        trial = frozen(run, space, self._metric, runs)
        trial.intermediate_values = dict(run.values)
        if run.status == "pruned":
            trial.state = TrialState.PRUNED
        return trial


@contextmanager
def optuna_tables(url: URL, study: str, metric: str) -> Iterator[OptunaTables]:
    """Optuna's tables in the database of a store, made where they are not there yet; none for a store in memory."""
    storage = _open(url)
    try:
        yield OptunaTables(storage, study, metric)
    finally:
        if storage is not None:
            storage.remove_session()
            storage.engine.dispose()


def _open(url: URL) -> RDBStorage | None:
    on_file = sqlite_file(url) is not None
    if not on_file and url.get_backend_name() == "sqlite":
        return None
    patience = {"timeout": BUSY_SECONDS} if on_file and "timeout" not in url.query else {}
    try:
        with quiet():
            storage = RDBStorage(url.render_as_string(hide_password=False), engine_kwargs={"connect_args": patience})
    except (SQLAlchemyError, OptunaError):
        return None
    if on_file:
        event.listen(storage.engine, "connect", _sync_seldom)
        storage.engine.dispose()
    return storage


def _find_study(storage: RDBStorage, name: str) -> int:
    try:
        return storage.create_new_study([StudyDirection.MAXIMIZE], name)
    except DuplicatedStudyError:
        return storage.get_study_id_from_name(name)


def _sync_seldom(connection: Any, _record: Any) -> None:
    # A copy that a power cut takes back is made again by the next search.
    connection.execute("PRAGMA synchronous=NORMAL")
