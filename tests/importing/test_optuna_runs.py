"""Optuna's own databases and journals, made by Optuna and read independently by it."""

from __future__ import annotations

import math
from pathlib import Path

import optuna
import pytest
from optuna.storages.journal import JournalFileBackend
from support.importing import imported

from robustness.errors import RobustnessError

STUDIES = ("adam", "sgd")


def objective(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    trial.suggest_categorical("activation", ["relu", None, 3])
    width = trial.suggest_int("width", 1, 8)
    for epoch in range(4):
        trial.report(rate * width / (epoch + 1), epoch)
        if trial.number == 2 and epoch == 1:
            raise optuna.TrialPruned
    if trial.number == 3:
        raise ValueError("crashed")
    return math.nan if trial.number == 4 else rate * width / 4


def fill(storage: optuna.storages.BaseStorage | str) -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    for seed, name in enumerate(STUDIES):
        sampler = optuna.samplers.TPESampler(seed=seed)
        study = optuna.create_study(storage=storage, study_name=name, direction="minimize", sampler=sampler)
        study.optimize(objective, n_trials=6, catch=(ValueError,))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("optuna") / "optuna.db"
    fill(f"sqlite:///{path}")
    return path


def check_against_optuna(source: str, storage: optuna.storages.BaseStorage | str) -> None:
    """Every number of the import against what Optuna itself reads."""
    found = imported(source, missing="diverged", pruned="left-out")
    runs = found.runs
    assert (runs.goal, runs.metric, runs.arms, runs.adaptive) == ("minimize", "value", list(STUDIES), True)
    trials = [(name, t) for name in STUDIES for t in optuna.load_study(study_name=name, storage=storage).trials]
    assert len(trials) == len(runs.frame) == 12
    statuses = {"COMPLETE": "finished", "PRUNED": "pruned", "FAIL": "diverged"}
    for place, (name, trial) in enumerate(trials):
        row = runs.frame.iloc[place]
        assert (row["arm"], row["status"]) == (name, statuses[trial.state.name])
        configuration = dict(runs.configurations[row["configuration"]])
        assert configuration == {key: "None" if value is None else value for key, value in trial.params.items()}
        curve = runs.epochs[runs.epochs["run"] == place].set_index("epoch")["value"].to_dict()
        assert curve == trial.intermediate_values
        assert trial.datetime_start is not None
        assert row["started"] == pytest.approx(trial.datetime_start.timestamp())
        assert row["seconds"] == pytest.approx(trial.duration.total_seconds() if trial.duration else 0, abs=1e-5)
    ended = found.study._trials().frame
    values = [trial.value if trial.state.name == "COMPLETE" else None for _, trial in trials]
    assert [None if m != m else m for m in ended["metric"].where(ended["status"] == "finished")] == values


def test_a_database_is_read_as_optuna_reads_it(database: Path) -> None:
    check_against_optuna(f"optuna:sqlite:///{database}", f"sqlite:///{database}")


def test_a_journal_is_read_as_optuna_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.log"
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(path)))
    fill(storage)
    before = (path.read_bytes(), sorted(tmp_path.iterdir()))
    check_against_optuna(f"optuna:{path}", storage)
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == before


def test_a_database_is_neither_changed_nor_upgraded_nor_locked(database: Path) -> None:
    before = (database.read_bytes(), database.stat().st_mtime_ns, sorted(database.parent.iterdir()))
    database.chmod(0o444)
    imported(f"optuna:{database}", missing="diverged", pruned="left-out")
    assert (database.read_bytes(), database.stat().st_mtime_ns, sorted(database.parent.iterdir())) == before


def test_pruned_and_failed_trials_are_asked_about(database: Path) -> None:
    with pytest.raises(RobustnessError, match=r"4 of 12 runs without a result .* --missing diverged"):
        imported(f"optuna:{database}")
    with pytest.raises(RobustnessError, match=r"2 of 12 runs stopped early .* --pruned last-value"):
        imported(f"optuna:{database}", missing="left-out")


def test_a_name_for_the_objective_is_answered_with_the_one_that_it_has(database: Path) -> None:
    with pytest.raises(RobustnessError, match=r"'accuracy' .*objective of Optuna has no other name than 'value'"):
        imported(f"optuna:{database}", metric="accuracy")


def test_some_studies_or_a_parameter_can_be_the_arms(database: Path) -> None:
    options = {"missing": "diverged", "pruned": "left-out"}
    assert imported(f"optuna:{database}", studies=["sgd"], **options).runs.arms == ["sgd"]
    by_activation = imported(f"optuna:{database}", studies=["sgd"], arm="activation", **options).runs
    assert set(by_activation.arms) <= {"relu", "None", "3"}
    assert set(by_activation.levels) == {"rate", "width"}
    with pytest.raises(RobustnessError, match="did you mean 'adam'"):
        imported(f"optuna:{database}", studies=["adm"], **options)


def test_a_grid_is_not_adaptive(tmp_path: Path) -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    for name, shift in (("a", 0.0), ("b", 0.5)):
        sampler = optuna.samplers.GridSampler({"x": [1, 2, 3]}, seed=0)
        storage = f"sqlite:///{tmp_path / 'grid.db'}"
        study = optuna.create_study(storage=storage, study_name=name, direction="maximize", sampler=sampler)
        study.optimize(lambda trial, shift=shift: trial.suggest_int("x", 1, 3) + shift, n_trials=3)  # type: ignore[misc]
    runs = imported(f"optuna:{tmp_path / 'grid.db'}").runs
    assert (runs.adaptive, runs.assumed, len(runs.configurations), len(runs.frame)) == (False, False, 3, 6)


@pytest.mark.parametrize(
    ("sampler", "adaptive", "is_assumed"),
    [
        (optuna.samplers.RandomSampler(seed=0), True, True),
        (optuna.samplers.TPESampler(seed=0), True, True),
        (optuna.samplers.NSGAIISampler(seed=0), True, False),
        (optuna.samplers.GridSampler({"x": [0.11, 0.2, 0.35]}, seed=0), False, False),
    ],
    ids=["random", "tpe", "nsga", "grid"],
)
def test_the_sampler_is_known_where_it_left_a_trace_and_assumed_elsewhere(
    sampler: optuna.samplers.BaseSampler, adaptive: bool, is_assumed: bool, tmp_path: Path
) -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    storage = f"sqlite:///{tmp_path / 'o.db'}"
    study = optuna.create_study(storage=storage, direction="maximize", sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    runs = imported(f"optuna:{tmp_path / 'o.db'}").runs
    assert (runs.adaptive, runs.assumed) == (adaptive, is_assumed)
    said = imported(f"optuna:{tmp_path / 'o.db'}", proposed="independently").runs
    assert (said.adaptive, said.assumed) == (False, False)


def test_an_objective_that_is_not_the_last_report_stays_apart(tmp_path: Path) -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    study = optuna.create_study(storage=f"sqlite:///{tmp_path / 'o.db'}", study_name="a", direction="maximize")

    def best_of_epochs(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        for epoch, value in enumerate((x, x + 2, x + 1)):
            trial.report(value, epoch)
        return x + 2

    study.optimize(best_of_epochs, n_trials=3)
    runs = imported(f"optuna:{tmp_path / 'o.db'}").runs
    assert list(runs.epochs.columns) == ["run", "epoch", "value", "intermediate"]
    assert runs.frame["last"].tolist() == [trial.value for trial in study.trials]
    first = runs.epochs[runs.epochs["run"] == 0]
    assert first["intermediate"].tolist() == list(study.trials[0].intermediate_values.values())
    assert first["value"].isna().tolist() == [True, True, False]


@pytest.mark.parametrize("content", [b"", b"not a journal\n", b"SQLite format 3\0" + b"x" * 100])
def test_what_is_not_optunas_gets_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.db").write_bytes(content)
    with pytest.raises(RobustnessError, match=r"x\.db") as refusal:
        imported(f"optuna:{tmp_path / 'x.db'}")
    assert "\n" not in str(refusal.value)


def test_studies_of_the_same_configurations_and_noted_samplers_need_no_assumption(tmp_path: Path) -> None:
    def study(name: str, seed: int, offset: float, file: str = "same.db") -> optuna.Study:
        storage = f"sqlite:///{tmp_path / file}"
        made = optuna.create_study(
            storage=storage, study_name=name, direction="maximize", sampler=optuna.samplers.RandomSampler(seed=seed)
        )
        made.optimize(lambda trial: trial.suggest_float("rate", 0, 1) + offset, n_trials=4)
        return made

    study("a", 1, 0.0)
    study("b", 1, 0.1)
    runs = imported(f"optuna:{tmp_path / 'same.db'}").runs
    assert (runs.adaptive, runs.assumed) == (False, False)
    study("c", 2, 0.0, "noted.db")
    noted = study("d", 3, 0.1, "noted.db")
    assert imported(f"optuna:{tmp_path / 'noted.db'}").runs.assumed
    noted.set_user_attr("sampler", "RandomSampler")
    assert imported(f"optuna:{tmp_path / 'noted.db'}").runs.assumed
    optuna.load_study(study_name="c", storage=f"sqlite:///{tmp_path / 'noted.db'}").set_user_attr("sampler", "random")
    runs = imported(f"optuna:{tmp_path / 'noted.db'}").runs
    assert (runs.adaptive, runs.assumed) == (False, False)
