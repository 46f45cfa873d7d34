"""Optuna's journal file, replayed by Optuna itself on a copy."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import optuna
from optuna.storages.journal import JournalFileBackend

from robustness.errors import RobustnessError
from robustness.guards.limits import read_bytes
from robustness.importing.optuna_runs import chosen
from robustness.importing.optuna_trials import ENQUEUED, OptunaStudy, OptunaTrial, is_adaptive


def read_journal(path: Path, wanted: Sequence[str]) -> list[OptunaStudy]:
    """The studies of a journal; raises RobustnessError if it is none."""
    content = read_bytes(path, "runs_bytes", RobustnessError)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "journal.log"
        copy.write_bytes(content)
        try:
            storage = optuna.storages.JournalStorage(JournalFileBackend(str(copy)))
            numbers = {study.study_name: study._study_id for study in storage.get_all_studies()}
            names = chosen(numbers, wanted, str(path))
            if not numbers:
                raise RobustnessError(f"{path}: is neither a database nor a journal file of Optuna with a study")
            return [
                OptunaStudy(
                    name,
                    [direction.name.lower() for direction in storage.get_study_directions(numbers[name])],
                    [_trial(trial) for trial in storage.get_all_trials(numbers[name], deepcopy=False)],
                    storage.get_study_user_attrs(numbers[name]),
                )
                for name in names
            ]
        except RobustnessError:
            raise
        except Exception as problem:
            # Whatever the replay of a damaged file raises.
            reason = " ".join(f"{type(problem).__name__}: {problem}".split())[:100]
            raise RobustnessError(f"{path}: cannot be read as a journal file of Optuna ({reason})") from None


def _trial(trial: optuna.trial.FrozenTrial) -> OptunaTrial:
    return OptunaTrial(
        trial.state.name,
        {name: "None" if value is None else value for name, value in trial.params.items()},
        trial.values or [],
        trial.intermediate_values,
        trial.datetime_start.timestamp() if trial.datetime_start else None,
        trial.datetime_complete.timestamp() if trial.datetime_complete else None,
        is_adaptive(trial.system_attrs),
        ENQUEUED in trial.system_attrs,
    )
