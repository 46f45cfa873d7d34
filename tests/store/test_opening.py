from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import make_url, text
from support.store_samples import SampleStudy, plan_of

import robustness
from robustness.errors import StoreError
from robustness.store import Store, encoding, migrations, open_store
from robustness.store.connection import connect, read_url
from robustness.store.hiding import complaint

FIRST_SCHEMA = Path(__file__).with_name("first_schema.db")
"""Made by revision 0001: two configurations, two arms; three trials have ended, one of them diverged."""

SECRET = "s3cr3t/&word"  # noqa: S105


def test_a_fresh_store_is_empty_and_opens_again(store_url: str) -> None:
    for _ in range(2):
        with robustness.open_store(store_url) as store:
            assert store.names() == []


def test_a_store_of_the_first_schema_is_upgraded_and_keeps_its_results(tmp_path: Path) -> None:
    file = shutil.copy(FIRST_SCHEMA, tmp_path / "old.db")
    with open_store(f"sqlite:///{file}") as store:
        study = store.study("first")
        frame, epochs = study.trials(), study.epochs()
        assert list(frame["status"]) == ["finished", "diverged", "finished", "planned"]
        assert list(frame["learning_rate"]) == [0.01, 0.01, 0.001, 0.001]
        assert list(frame["metric"][:3]) == [0.6, 0.7, 0.8]
        assert epochs["nll"].isna().sum() == 1
        assert list(epochs["own"][:2]) == [1.5, 3.0]
        assert study.document()["limit"] == float("inf")
        study.save_note("new", "a table that the first schema had not")
        with study.writer() as writer:
            writer.ended(study.pending()[0], "finished", 0.9, 1)
        assert study.pending() == []
    with closing(sqlite3.connect(file)) as plain:
        assert plain.execute("SELECT version_num FROM robustness_version").fetchall() == [(migrations.REVISIONS[-1],)]
        assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert plain.execute("PRAGMA foreign_key_check").fetchall() == []


def test_migrations_and_a_fresh_store_give_the_same_tables(store_url: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    from robustness.store.schema import metadata

    def of_ours(_object: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
        return kind != "table" or name != migrations.VERSION_TABLE

    database = connect(read_url(store_url))
    with database.write() as connection:
        for revision in migrations.REVISIONS:
            migrations.upgrade(connection, database.shown, revision)
            assert migrations.version(connection) == revision
        context = MigrationContext.configure(connection, opts={"include_object": of_ours, "compare_type": True})
        assert compare_metadata(context, metadata) == []
    database.engine.dispose()

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    assert tuple(script.revision for script in scripts.walk_revisions())[::-1] == migrations.REVISIONS


def test_stages_and_runs_come_from_the_packed_numbers_of_earlier_searches(store_url: str) -> None:
    database = connect(read_url(store_url))
    packed = {"search": [0, 4999, 10_000, 10_002, 5_000, 15_002], "sweep": [0, 5_001]}
    with database.write() as connection:
        migrations.upgrade(connection, database.shown, "0002")
        for row, (name, numbers) in enumerate(packed.items(), start=1):
            document = encoding.dumps(
                {"name": name, "arms": [], "search": {"runs": 5000} if name == "search" else None}
            )
            connection.execute(
                text(
                    "INSERT INTO robustness_studies (id, name, document, hash, versions, hardware, created) "
                    "VALUES (:row, :name, :document, '', '{}', '{}', 0)"
                ),
                {"row": row, "name": name, "document": document},
            )
            for number in numbers:
                values = {"row": row, "number": number}
                connection.execute(text("INSERT INTO robustness_configurations VALUES (:row, :number, '{}')"), values)
                connection.execute(
                    text(
                        "INSERT INTO robustness_trials "
                        "(study, configuration, arm, replicate, position, status, attempts) "
                        "VALUES (:row, :number, 'only', 0, 0, 'planned', 0)"
                    ),
                    values,
                )
        connection.execute(text("INSERT INTO robustness_notes VALUES (1, 'arm_places', '[]'), (1, 'other', '[]')"))
    database.engine.dispose()
    with open_store(store_url) as store:
        searched = store.study("search")
        assert {trial.key.configuration: (trial.stage, trial.run) for trial in searched.results()} == {
            0: ("search", 0),
            4999: ("search", 4999),
            10_000: ("search", 0),
            10_002: ("search", 2),
            5_000: ("final", 0),
            15_002: ("final", 2),
        }
        assert (searched.note("arm_places"), searched.note("other")) == (None, [])
        assert searched.next_configuration() == 15_003
        assert {(trial.stage, trial.run) for trial in store.study("sweep").results()} == {("sweep", None)}
        frame = store.study("sweep").trials()
        assert set(frame["stage"]) == {"sweep"}
        assert frame["run"].isna().all()


def test_a_failed_migration_leaves_the_old_store_as_it_was(tmp_path: Path) -> None:
    file = shutil.copy(FIRST_SCHEMA, tmp_path / "old.db")
    with closing(sqlite3.connect(file)) as plain:
        # The second revision fails at its second table, which already exists.
        plain.execute("CREATE TABLE robustness_predictions (x)")
    with pytest.raises(StoreError, match="robustness_predictions"):
        open_store(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as plain:
        assert plain.execute("SELECT version_num FROM robustness_version").fetchall() == [("0001",)]
        assert plain.execute("SELECT name FROM sqlite_master WHERE name = 'robustness_notes'").fetchall() == []


def test_a_store_of_a_newer_version_is_refused_in_one_line(store_url: str, store: Store) -> None:
    with store._database.write() as connection:
        connection.execute(text("UPDATE robustness_version SET version_num = '0999'"))
    with pytest.raises(StoreError, match=r"newer version of robustness \(schema 0999") as refusal:
        open_store(store_url)
    assert "\n" not in str(refusal.value)


def test_many_processes_may_open_a_fresh_store_at_once(store_url: str) -> None:
    code = "import sys, robustness; robustness.open_store(sys.argv[1]).close()"
    command = [sys.executable, "-c", code, store_url.replace("?timeout=0.2", "")]
    root = Path(robustness.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    children = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) for _ in range(4)]
    errors = [child.communicate(timeout=120)[1] for child in children]
    assert [(child.returncode, error) for child, error in zip(children, errors, strict=True)] == [(0, b"")] * 4


def test_sqlite_files_use_the_write_ahead_log_and_check_foreign_keys(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'a.db'}") as store, store._database.read() as connection:
        settings = [connection.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "foreign_keys")]
        assert settings == ["wal", 1]


def test_a_store_that_does_not_exist_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does not exist"):
        open_store(f"sqlite:///{tmp_path / 'none.db'}", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_studies_is_not_filled_by_reading(store_url: str) -> None:
    with pytest.raises(StoreError, match=r"does not exist|holds no studies"):
        open_store(store_url, create=False)


def test_the_default_store_is_in_the_environment_or_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ROBUSTNESS_STORE", raising=False)
    assert read_url().render_as_string() == "sqlite:///robustness.db"
    monkeypatch.setenv("ROBUSTNESS_STORE", "sqlite:///other.db")
    with open_store() as store:
        assert store.url == "sqlite:///other.db"
    assert (tmp_path / "other.db").exists()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("results.db", "sqlite:///results.db"),
        ("mysql://somebody@host/x", "unknown kind of database 'mysql'"),
        ("postgresq://somebody@host/x", "did you mean 'postgresql'"),
        ("sqlite:///no/such/folder/x.db", "folder 'no/such/folder' does not exist"),
        ("sqlite:///.", "is a folder"),
        ("sqlite://results.db", "sqlite:///results.db"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
        ("postgresql://somebody@host:port/x", "is invalid"),
    ],
)
def test_a_bad_url_gets_one_line(url: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as refusal:
        open_store(url)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_gets_one_line(tmp_path: Path) -> None:
    file = tmp_path / "notes.db"
    file.write_text("these are notes, and no database at all\n" * 100)
    with pytest.raises(StoreError, match="not a database"):
        open_store(f"sqlite:///{file}")


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install -e '\.\[postgres\]'"):
        open_store("postgresql://somebody@localhost/x")


@pytest.mark.parametrize("place", ["user:{}@", "user@", "user:other@"])
def test_a_password_is_never_shown(place: str, tmp_path: Path) -> None:
    secret = quote(SECRET, safe="")
    query = "" if "{}" in place else f"&password={secret}"
    url = f"postgresql://{place.format(secret)}/nowhere?host={tmp_path}{query}"
    with pytest.raises(StoreError) as refusal:
        open_store(url)
    shown = f"{refusal.value!r} {refusal.value.__cause__!r} {Store.__repr__}"
    assert secret not in shown
    assert SECRET not in shown
    assert str(tmp_path) in str(refusal.value)


def test_a_password_is_cut_out_of_what_the_driver_says() -> None:
    url = make_url("postgresql://user:s3cr3t%2F%26word@host/x?sslpassword=0ther")
    line = complaint(RuntimeError(f"cannot use\n{SECRET} nor s3cr3t%2F%26word nor 0ther"), url)
    assert line == "cannot use *** nor *** nor ***"


def test_a_store_shows_itself_without_its_password(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = make_url(postgres_url).set(password=SECRET).render_as_string(hide_password=False)
    study = SampleStudy()
    with open_store(url) as store:
        held = store.register(study, plan_of(study))
        shown = f"{store!r} {store.url} {held!r} {store._database!r} {store._database.engine!r} {held.spill}"
    assert SECRET not in shown
    assert "s3cr3t" not in shown


def test_optuna_keeps_its_studies_in_the_same_database(store_url: str) -> None:
    import optuna

    study = SampleStudy()
    with open_store(store_url) as store:
        held = store.register(study, plan_of(study))
        url = read_url(store_url).render_as_string(hide_password=False)
        storage = optuna.storages.RDBStorage(url)
        try:
            other = optuna.create_study(storage=storage, study_name="sample")
            other.add_trial(optuna.trial.create_trial(value=1.0))
            assert len(other.trials) == 1
        finally:
            storage.engine.dispose()
        assert len(held.pending()) == 6
    with open_store(store_url, create=False) as store:
        assert store.names() == ["sample"]
