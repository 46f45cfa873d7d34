"""A copy of the runs of a search in Optuna's own tables of the same database, for `optuna-dashboard` and similar tools.

The search never reads the copy, and a busy database (read by a dashboard, say) only delays it.
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

from robustness.goal import MAXIMIZE, Goal
from robustness.optimize.proposals import SearchRun, frozen, quiet
from robustness.space.space import Space
from robustness.store.connection import sqlite_file
from robustness.store.sqlite_files import BUSY_SECONDS
from robustness.trial import ENDED


class OptunaMirror:
    """Optuna studies named `STUDY/ARM`, one for each arm; those of a repeated search end in `/search 2` and so on."""

    def __init__(
        self, storage: RDBStorage | None, study: str, metric: str, search_number: int = 0, goal: Goal = MAXIMIZE
    ) -> None:
        self._storage = storage
        self._study = study
        self._metric = metric
        self._goal = goal
        self._suffix = f"/search {search_number + 1}" if search_number else ""
        self._studies: dict[str, int] = {}
        self._copied: dict[str, list[tuple[int, bool]]] = {}
        """For each arm the row of each copied run, and whether the copy has ended."""

    def update(self, arm: str, space: Space, runs: Sequence[SearchRun]) -> bool:
        """Copy the runs of an arm; returns False if the database cannot be written now."""
        if self._storage is None:
            return False
        try:
            with quiet():
                self._update(self._storage, arm, space, runs)
        except (SQLAlchemyError, OptunaError):
            # The next update rereads the copied rows.
            self._copied.pop(arm, None)
            self._storage.remove_session()
            return False
        return True

    def _update(self, storage: RDBStorage, arm: str, space: Space, runs: Sequence[SearchRun]) -> None:
        if arm not in self._copied:
            self._studies[arm] = _find_study(storage, f"{self._study}/{arm}{self._suffix}", self._goal)
            trials = storage.get_all_trials(self._studies[arm], deepcopy=False)
            self._copied[arm] = [(trial._trial_id, trial.state.is_finished()) for trial in trials]
        copied = self._copied[arm]
        for run in runs:
            ended = run.status in ENDED
            if run.number >= len(copied):
                trial = self._frozen(run, space, runs)
                copied.append((storage.create_new_trial(self._studies[arm], trial), ended))
            elif ended and not copied[run.number][1]:
                row = copied[run.number][0]
                trial = self._frozen(run, space, runs)
                for name, value in trial.system_attrs.items():
                    storage.set_trial_system_attr(row, name, value)
                for epoch, value in run.values.items():
                    storage.set_trial_intermediate_value(row, epoch, value)
                storage.set_trial_user_attr(row, "status", run.status)
                storage.set_trial_state_values(row, trial.state, trial.values)
                copied[run.number] = row, True

    def _frozen(self, run: SearchRun, space: Space, runs: Sequence[SearchRun]) -> FrozenTrial:
        """A run as a dashboard should show it: as pruned, where samplers take it for complete."""
        trial = frozen(run, space, self._metric, runs, self._goal)
        trial.intermediate_values = dict(run.values)
        if run.status == "pruned":
            trial.state = TrialState.PRUNED
        return trial


@contextmanager
def open_mirror(
    url: URL, study: str, metric: str, search_number: int = 0, goal: Goal = MAXIMIZE
) -> Iterator[OptunaMirror]:
    """Open Optuna's tables in the database of a store, creating them if necessary.

    The copy is of one search of the study, counted from 0.
    """
    storage = _open(url)
    try:
        yield OptunaMirror(storage, study, metric, search_number, goal)
    finally:
        if storage is not None:
            storage.remove_session()
            storage.engine.dispose()


def _open(url: URL) -> RDBStorage | None:
    on_file = sqlite_file(url) is not None
    patience = {"timeout": BUSY_SECONDS} if on_file and "timeout" not in url.query else {}
    try:
        with quiet():
            storage = RDBStorage(url.render_as_string(hide_password=False), engine_kwargs={"connect_args": patience})
    except (SQLAlchemyError, OptunaError):
        return None
    if on_file:
        event.listen(storage.engine, "connect", _relax_syncing)
        storage.engine.dispose()
    return storage


def _find_study(storage: RDBStorage, name: str, goal: Goal) -> int:
    direction = StudyDirection.MINIMIZE if goal.minimizes else StudyDirection.MAXIMIZE
    try:
        return storage.create_new_study([direction], name)
    except DuplicatedStudyError:
        return storage.get_study_id_from_name(name)


def _relax_syncing(connection: Any, _record: Any) -> None:
    # The next search restores whatever a power cut removes from the copy.
    connection.execute("PRAGMA synchronous=NORMAL")
