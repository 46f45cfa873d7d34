"""Random damage to what other tools and robustness itself write: the import reads it, or answers with one line.

`support.fuzzing` says how long it takes. Small sources are made here in the form of each tool; that the forms are right
is what `tests/importing` shows with the tools themselves.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
import yaml
from optuna.storages.journal import JournalFileBackend
from support.archives import bytes_of, lines_of, sealed
from support.fuzzing import answered, run, seeds
from support.hostile import mutated
from support.importing import imported
from support.stores import mixed
from tensorboardX import SummaryWriter

from report.analysis import analyse, as_json_text
from robustness.importing.own_stores import copy_studies
from robustness.store import open_store

ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    10**30,
    2**63,
    -(2**63) - 1,
    1e308,
    -1e-320,
    float("nan"),
    float("inf"),
    "",
    "nan",
    "NaN",
    "9" * 400,
    "a\x1b[31mb",
    "\u202e",
    "=1+1",
    "2020-01-01",
    [],
    {},
    [[1], {"a": None}],
    {"a": {"b": []}},
    "x" * 5000,
]
"""Values where another was expected."""


def odd(rng: np.random.Generator) -> Any:
    return ODD[int(rng.integers(len(ODD)))]


def altered(tree: Any, rng: np.random.Generator) -> Any:
    """The tree with one of its values or keys replaced, removed or doubled at random."""
    if isinstance(tree, dict) and tree and rng.random() < 0.8:
        name = list(tree)[int(rng.integers(len(tree)))]
        match int(rng.integers(4)):
            case 0:
                return {key: value for key, value in tree.items() if key != name}
            case 1:
                return {**tree, str(odd(rng)): tree[name]}
            case _:
                return {**tree, name: altered(tree[name], rng)}
    if isinstance(tree, list) and tree and rng.random() < 0.8:
        place = int(rng.integers(len(tree)))
        return [*tree[:place], altered(tree[place], rng), *tree[place + int(rng.integers(2)) :]]
    return odd(rng)


def read(source: str | Path) -> Callable[[], None]:
    """An import to its end: what would be stored is made."""

    def importing() -> None:
        study = imported(source, missing="diverged", pruned="last-value", learned_nothing=0.1, good=0.9).study
        assert study.hash
        assert len(study._trials().frame)

    return importing


Alter = Callable[[str, np.random.Generator], str]


def fuzz_file(path: Path, source: str | Path, alter: Alter | None = None, share: float = 1.0) -> None:
    """Fuzz the import of a source by damaging a file, byte by byte or, in turn, in the way of its format."""
    whole = path.read_bytes()

    def check(seed: int) -> None:
        rng = np.random.default_rng(seed)
        if alter is not None and seed % 2:
            path.write_bytes(alter(whole.decode(), rng).encode(errors="replace"))
        else:
            path.write_bytes(mutated(whole, rng))
        answered(read(source))

    answered(read(source))
    run(check, seeds, share)


def altered_json(content: str, rng: np.random.Generator) -> str:
    """A JSON document, or lines of them, with one value changed."""
    if content.count("\n") < 2 or content.startswith("{\n"):
        return json.dumps(altered(json.loads(content), rng))
    lines = content.splitlines()
    place = int(rng.integers(len(lines)))
    return "\n".join([*lines[:place], json.dumps(altered(json.loads(lines[place]), rng)), *lines[place + 1 :]])


def altered_yaml(content: str, rng: np.random.Generator) -> str:
    return str(yaml.safe_dump(altered(yaml.safe_load(content), rng)))


def alter_database(path: Path, rng: np.random.Generator) -> None:
    """Replace the values of one column in a database, where SQLite keeps any kind of value, or drop a table."""
    with sqlite3.connect(path) as database:
        names = [str(row[0]) for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = names[int(rng.integers(len(names)))]
        if rng.random() < 0.1:
            database.execute(f'DROP TABLE "{table}"')
            return
        columns = [str(row[1]) for row in database.execute(f'PRAGMA table_info("{table}")')]
        column = columns[int(rng.integers(len(columns)))]
        value = odd(rng)
        if isinstance(value, list | dict):
            value = json.dumps(value)
        elif isinstance(value, int) and abs(value) >= 2**63:
            value = b"\x00\xff"
        where = "" if rng.random() < 0.5 else " WHERE rowid = 1"
        database.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ?{where}', (value,))  # noqa: S608
    database.close()


def fuzz_database(path: Path, work: Callable[[], None]) -> None:
    """Fuzz the reading of a database by changing its values or its bytes."""
    whole = path.read_bytes()

    def check(seed: int) -> None:
        rng = np.random.default_rng(seed)
        path.write_bytes(whole if seed % 2 else mutated(whole, rng))
        if seed % 2:
            try:
                alter_database(path, rng)
            except sqlite3.IntegrityError:  # the schema itself refuses it
                return
        answered(work)

    answered(work)
    run(check, seeds)


def fill(storage: optuna.storages.BaseStorage | str) -> None:
    """Two small studies of Optuna."""
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    for seed, name in enumerate(("adam", "sgd")):
        study = optuna.create_study(
            storage=storage, study_name=name, sampler=optuna.samplers.RandomSampler(seed=seed), direction="minimize"
        )
        for _ in range(3):
            trial = study.ask()
            rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
            trial.suggest_categorical("kind", ["a", None, 3])
            trial.report(rate, 1)
            study.tell(trial, rate)


def test_optuna_databases(tmp_path: Path) -> None:
    path = tmp_path / "optuna.db"
    fill(f"sqlite:///{path}")
    fuzz_database(path, read(f"optuna:sqlite:///{path}"))


def test_optuna_journals(tmp_path: Path) -> None:
    path = tmp_path / "journal.log"
    fill(optuna.storages.JournalStorage(JournalFileBackend(str(path))))
    fuzz_file(path, f"optuna:{path}", altered_json)


@pytest.mark.parametrize("name", ["params.json", "result.json", "progress.csv"])
def test_tune_folders(tmp_path: Path, name: str) -> None:
    for number, (arm, rate) in enumerate([("adam", 0.1), ("sgd", 0.1), ("adam", 0.5), ("sgd", 0.5)]):
        trial = tmp_path / f"trial_{number}"
        trial.mkdir()
        (trial / "params.json").write_text(json.dumps({"rate": rate, "arm": arm, "net": {"width": 4}}))
        results = [
            {
                "accuracy": rate * epoch,
                "training_iteration": epoch,
                "timestamp": 1e9 + epoch,
                "time_total_s": 1.0 * epoch,
            }
            for epoch in (1, 2)
        ]
        if name == "progress.csv":
            pd.DataFrame(results).to_csv(trial / name, index=False)
        else:
            (trial / "result.json").write_text("\n".join(map(json.dumps, results)) + "\n")
    alter = None if name == "progress.csv" else altered_json
    fuzz_file(tmp_path / "trial_0" / name, f"ray:{tmp_path}", alter, 1 / 3)


@pytest.mark.parametrize("name", ["meta.yaml", "run/meta.yaml", "run/metrics/accuracy", "run/params/rate"])
def test_mlflow_folders(tmp_path: Path, name: str) -> None:
    experiment = tmp_path / "mlruns" / "1"
    experiment.mkdir(parents=True)
    about = {"name": "comparison", "experiment_id": "1", "lifecycle_stage": "active"}
    (experiment / "meta.yaml").write_text(yaml.safe_dump(about))
    for number, (arm, rate) in enumerate([("adam", 0.1), ("sgd", 0.1), ("adam", 0.5), ("sgd", 0.5)]):
        folder = experiment / ("run" if number == 0 else f"run{number}")
        for part in ("metrics", "params"):
            (folder / part).mkdir(parents=True)
        times = {"start_time": 10**12 + number, "end_time": 10**12 + 9 + number}
        of_run = {"run_id": folder.name, "status": 3, **times, "lifecycle_stage": "active"}
        (folder / "meta.yaml").write_text(yaml.safe_dump(of_run))
        (folder / "metrics" / "accuracy").write_text(f"1000 {rate} 1\n2000 {rate + 0.1} 2\n")
        (folder / "params" / "rate").write_text(str(rate))
        (folder / "params" / "arm").write_text(arm)
    alter = altered_yaml if name.endswith(".yaml") else None
    fuzz_file(experiment / name, f"mlflow:{tmp_path / 'mlruns'}", alter, 1 / 4)


TABLES: Mapping[str, str] = {
    "experiments": "experiment_id INTEGER PRIMARY KEY, name TEXT, lifecycle_stage TEXT",
    "runs": "run_uuid TEXT, experiment_id INT, status TEXT, start_time INT, end_time INT, lifecycle_stage TEXT",
    "params": '"key" TEXT, value TEXT, run_uuid TEXT',
    "metrics": '"key" TEXT, value DOUBLE, timestamp BIGINT, run_uuid TEXT, step BIGINT, is_nan BOOLEAN',
}
"""The columns of MLflow's database that are read."""


def test_mlflow_databases(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    with sqlite3.connect(path) as database:
        for table, columns in TABLES.items():
            database.execute(f"CREATE TABLE {table} ({columns})")
        database.execute("INSERT INTO experiments VALUES (1, 'comparison', 'active')")
        for number, (arm, rate) in enumerate([("adam", 0.1), ("sgd", 0.1), ("adam", 0.5), ("sgd", 0.5)]):
            run_id = f"run{number}"
            database.execute("INSERT INTO runs VALUES (?, 1, 'FINISHED', 1000, 2000, 'active')", (run_id,))
            for key, value in (("rate", rate), ("arm", arm)):
                database.execute("INSERT INTO params VALUES (?, ?, ?)", (key, str(value), run_id))
            for step in (1, 2):
                values = ("accuracy", rate * step, 1000 + step, run_id, step, 0)
                database.execute("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", values)
    database.close()
    fuzz_database(path, read(f"mlflow:sqlite:///{path}"))


def test_event_files(tmp_path: Path) -> None:
    for arm in ("adam", "sgd"):
        for rate in (0.1, 0.25):
            writer = SummaryWriter(str(tmp_path / f"{arm}_{rate}"))
            writer.add_scalar("accuracy", rate, 1)
            writer.add_hparams({"arm": arm, "rate": rate}, {"accuracy": rate})
            writer.close()
    path = min(file for file in tmp_path.rglob("*tfevents*") if "adam_0.1" in str(file))
    fuzz_file(path, f"tensorboard:{tmp_path}")


FRAME = pd.DataFrame(
    {
        "State": ["finished", "finished", "crashed", "finished"],
        "config.rate": [0.1, 0.1, 0.5, 0.5],
        "arm": ["adam", "sgd", "adam", "sgd"],
        "metric": [0.5, 0.25, 0.125, 1.0],
        "Runtime": [1, 2, 3, 4],
    }
)


@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "records.json", "wandb.csv"])
def test_tables(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"runs.{ending}"
    match ending:
        case "parquet":
            FRAME.to_parquet(path)
        case "json":
            FRAME.to_json(path)
        case "records.json":
            FRAME.to_json(path, orient="records", lines=True)
        case _:
            FRAME.to_csv(path, index=False)
    alter = altered_json if ending.endswith("json") else None
    fuzz_file(path, f"wandb:{path}" if ending == "wandb.csv" else path, alter, 1 / 2)


def test_own_results(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    with open_store(f"sqlite:///{tmp_path / 'own.db'}") as store:
        path.write_text(as_json_text(analyse(mixed(store)).results))
    fuzz_file(path, path, altered_json)


def copying(source: Path, folder: Path) -> Callable[[], None]:
    """An import of a store or an archive into an empty store, and the analysis of what it stored."""
    into = folder / "here.db"
    with open_store(f"sqlite:///{into}"):
        pass
    empty = into.read_bytes()

    def copy() -> None:
        for companion in folder.glob("here.db*"):
            if companion.is_dir():
                shutil.rmtree(companion)
            else:
                companion.unlink()
        into.write_bytes(empty)
        copy_studies(str(source), None, "copied", f"sqlite:///{into}", False, False)
        with open_store(f"sqlite:///{into}") as store:
            analyse(store.study("copied"))

    return copy


def test_own_stores(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with open_store(f"sqlite:///{path}") as store:
        mixed(store)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode=DELETE")
    database.close()
    for companion in tmp_path.glob("other.db-*"):
        companion.unlink()
    fuzz_database(path, copying(path, tmp_path))


def test_archives(tmp_path: Path) -> None:
    path = tmp_path / "other.archive.jsonl.gz"
    with open_store(f"sqlite:///{tmp_path / 'other.db'}") as store:
        whole = bytes_of(mixed(store))
    lines = lines_of(whole)
    starts = [place for place, line in enumerate(lines) if isinstance(line, dict)]
    copy = copying(path, tmp_path)

    def check(seed: int) -> None:
        rng = np.random.default_rng(seed)
        if seed % 3 == 0:
            content = mutated(whole, rng)
        elif seed % 3 == 1:
            content = gzip.compress(mutated(gzip.decompress(whole), rng))
        else:
            # Most lines are epochs: every table has its turn. The checksum is that of the altered lines.
            first = starts[int(rng.integers(len(starts)))]
            place = min(first + int(rng.integers(3)), len(lines) - 1)
            content = sealed([*lines[:place], altered(lines[place], rng), *lines[place + 1 :]])
        path.write_bytes(content)
        answered(copy)

    path.write_bytes(whole)
    answered(copy)
    run(check, seeds)


def test_damage_is_done() -> None:
    rng = np.random.default_rng(0)
    whole = {"a": [1, 2, {"b": 3}], "c": "d"}
    changed = [altered(whole, rng) for _ in range(50)]
    assert sum(tree != whole for tree in changed) > 40
