"""Databases that were damaged, deleted, replaced, locked away or filled: one line, and nothing is lost silently."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from support.databases import on_server
from support.stores import mixed

from report.analysis import analyse
from report.sections.cautions import cautions
from robustness.cli import main
from robustness.errors import StoreError
from robustness.store import Store, StudyStore, open_store
from robustness.store.connection import read_url

KEPT = Path(__file__).parents[1] / "store" / "kept" / "before_the_move.db"
FIRST = Path(__file__).parents[1] / "store" / "first_schema.db"
PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one study with trials of every status."""
    path = tmp_path_factory.mktemp("whole") / "whole.db"
    with open_store(f"sqlite:///{path}") as store:
        mixed(store)
    return path


def run(*words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command in this process."""
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = main(list(words))
    return code, output.getvalue(), errors.getvalue()


def flip(data: bytearray, draws: random.Random, count: int, end: int | None = None) -> bytearray:
    for _ in range(count):
        data[draws.randrange(end or len(data))] ^= 1 << draws.randrange(8)
    return data


def zero(data: bytearray, draws: random.Random) -> bytearray:
    start = draws.randrange(len(data) // PAGE) * PAGE
    data[start : start + PAGE] = bytes(PAGE)
    return data


def shuffled(data: bytearray, draws: random.Random) -> bytearray:
    pages = [data[start : start + PAGE] for start in range(PAGE, len(data), PAGE)]
    draws.shuffle(pages)
    return data[:PAGE] + b"".join(pages)


DAMAGE: dict[str, Callable[[bytearray, random.Random], bytes | bytearray]] = {
    "one bit": lambda data, draws: flip(data, draws, 1),
    "a hundred bits": lambda data, draws: flip(data, draws, 100),
    "a bit of the header": lambda data, draws: flip(data, draws, 1, 100),
    "bits of the first page": lambda data, draws: flip(data, draws, 20, PAGE),
    "cut": lambda data, draws: data[: draws.randrange(1, len(data))],
    "last byte missing": lambda data, _: data[:-1],
    "page of zeros": zero,
    "pages shuffled": shuffled,
    "letters": lambda data, draws: bytearray(draws.choice(b"az{[09") if draws.random() < 0.001 else x for x in data),
}
READERS = tuple(
    words.split() for words in ("status", "status --json", "report mixed --format csv", "report mixed --format json")
)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_gets_one_line_and_is_left_as_it_is(damage: str, seed: int, whole: Path, tmp_path: Path) -> None:
    draws = random.Random(f"{damage} {seed}")
    file = tmp_path / "store.db"
    content = bytes(DAMAGE[damage](bytearray(whole.read_bytes()), draws))
    file.write_bytes(content)
    command = READERS[seed % len(READERS)]
    code, output, errors = run(*command, "--store", f"sqlite:///{file}")
    if code == 0 and not errors:
        # The damage lies where nothing is stored.
        assert output == run(*command, "--store", f"sqlite:///{whole}")[1]
    else:
        assert errors.count("\n") == 1
        assert errors.startswith("robustness: " if code else "warning: the store contradicts itself")
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["store.db"]


def fifo(path: Path) -> None:
    os.mkfifo(path)


def dead_socket(path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def notes(path: Path) -> None:
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("CREATE TABLE notes (x)")


STRANGE: dict[str, Callable[[Path], object]] = {
    "empty": Path.touch,
    "text": lambda path: path.write_text("notes\n" * 400),
    "one byte": lambda path: path.write_bytes(b"S"),
    "only a header": lambda path: path.write_bytes(b"SQLite format 3\0"),
    "PNG": lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(5000)),
    "ZIP": lambda path: path.write_bytes(b"PK\x03\x04" + bytes(5000)),
    "zeros": lambda path: path.write_bytes(bytes(3 * PAGE)),
    "folder": Path.mkdir,
    "named pipe": fifo,
    "socket": dead_socket,
    "dangling link": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path),
    "device": lambda path: path.symlink_to("/dev/null"),
    "another program's database": notes,
}


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("command", [["status"], ["report", "x"]], ids=["status", "report"])
def test_a_file_of_another_kind_gets_one_line(kind: str, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder:  # A socket's path must be short.
        monkeypatch.chdir(folder)
        STRANGE[kind](Path("x.db"))
        code, _, errors = run(*command, "--store", "sqlite:///x.db")
        assert (code, errors.count("\n")) == (2, 1)
        assert errors.startswith("robustness: store 'sqlite:///x.db'")
        assert [path.name for path in Path().iterdir()] == ["x.db"]
        monkeypatch.chdir("/")


IMPOSSIBLE = {"no file": "", "memory": "/:memory:", "long name": f"/{'x' * 300}.db", "NUL": "/a\0b.db"}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_store_that_cannot_be_is_refused_before_anything_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = run("sweep", "quickstart", "--store", f"sqlite://{IMPOSSIBLE[name]}", "--inline")
    assert (code, errors.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == []


@contextmanager
def read_only(file: Path) -> Iterator[Path]:
    """A copy of a store in a folder in which this process can change nothing, even as root."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    try:
        for beside in file.parent.glob(f"{file.name}*"):
            shutil.copy(beside, folder / beside.name.replace(file.name, "store.db"))
        for path in (*folder.iterdir(), folder):
            path.chmod(0o555 if path.is_dir() else 0o444)
        if root:
            os.seteuid(65534)
        yield folder / "store.db"
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize("command", READERS, ids=" ".join)
@pytest.mark.parametrize("place", ["writable", "read-only"])
@pytest.mark.parametrize("state", ["closed", "killed"])
def test_reading_commands_leave_no_trace(
    command: list[str], place: str, state: str, whole: Path, tmp_path: Path
) -> None:
    """After a sweep that ended, and after one that was killed and left its log."""
    file = tmp_path / "store.db"
    shutil.copy(whole, file)
    if state == "killed":
        with closing(sqlite3.connect(file)) as plain:
            plain.execute("UPDATE robustness_trials SET worker = 'other'")
            plain.commit()
            for name in ("store.db-wal", "store.db-shm"):
                shutil.copy(tmp_path / name, tmp_path / f"kept.{name}")
        for name in ("store.db-wal", "store.db-shm"):
            (tmp_path / f"kept.{name}").rename(tmp_path / name)
    with read_only(file) if place == "read-only" else contextlib.nullcontext(file) as opened:
        before = {path.name: path.read_bytes() for path in opened.parent.iterdir()}
        code, output, errors = run(*command, "--store", f"sqlite:///{opened}")
        after = {path.name: path.read_bytes() for path in opened.parent.iterdir()}
    assert (code, errors) == (0, "")
    assert output
    # SQLite notes readers in its index of the log.
    assert {name: after[name] for name in after if "shm" not in name} == {
        name: before[name] for name in before if "shm" not in name
    }
    assert after.keys() == before.keys()


@pytest.mark.parametrize("file", [KEPT, FIRST], ids=["before the move", "first schema"])
def test_an_older_store_is_read_and_not_upgraded(file: Path, tmp_path: Path) -> None:
    old = Path(shutil.copy(file, tmp_path / "old.db"))
    before = old.read_bytes()
    with open_store(f"sqlite:///{old}", create=False) as store:
        upgraded = Path(shutil.copy(file, tmp_path / "upgraded.db"))
        with open_store(f"sqlite:///{upgraded}") as other:
            assert store.names() == other.names()
            for name in store.names():
                assert store.study(name).trials().equals(other.study(name).trials())
                assert store.study(name).epochs().equals(other.study(name).epochs())
    upgraded.unlink()
    assert old.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["old.db"]


def test_a_reader_cannot_write(store_url: str, sample: StudyStore) -> None:
    with open_store(store_url, create=False) as reader:
        writes: list[Callable[[StudyStore], object]] = [
            lambda study: study.save_note("x", 1),
            lambda study: study.reopen(["failed"]),
            lambda study: study.writer(),
        ]
        for write in writes:
            with pytest.raises(StoreError, match=r"read-?only"):
                write(reader.study("sample"))
    assert sample.note("x") is None


def test_an_older_schema_on_a_server_gets_one_line(postgres_url: str) -> None:
    from robustness.store import migrations
    from robustness.store.connection import connect

    database = connect(read_url(postgres_url))
    with database.write() as connection:
        migrations.upgrade(connection, "", "0002")
    database.engine.dispose()
    with pytest.raises(StoreError, match=r"older schema \(0002\).*`robustness sweep`"):
        open_store(postgres_url, create=False)
    with open_store(postgres_url) as store:
        assert store.names() == []


def test_a_newer_store_is_refused_by_every_command(store_url: str, store: Store) -> None:
    with store._database.write() as connection:
        connection.execute(text("UPDATE robustness_version SET version_num = '0999'"))
    for words in (["status"], ["report", "x"], ["compare", "x", "y"], ["sweep", "quickstart", "--inline"]):
        code, _, errors = run(*words, "--store", store_url)
        assert (code, errors.count("\n")) == (2, 1)
        assert "newer version of robustness (schema 0999" in errors


@pytest.fixture
def role(postgres_url: str) -> Iterator[str]:
    """A user of the server without any privileges, as an address of the same database."""
    name = f"reader_{os.getpid()}"
    on_server(f"CREATE ROLE {name} LOGIN")
    yield postgres_url.replace("postgres@", f"{name}@")
    with open_store(postgres_url) as store, store._database.write() as connection:
        connection.execute(text(f"DROP OWNED BY {name}"))
    on_server(f"DROP ROLE {name}")


def test_privileges_that_are_missing_get_one_line(
    postgres_url: str, role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="permission denied"):
        open_store(role)
    with open_store(postgres_url) as store:
        mixed(store)
        name = read_url(role).username
        with store._database.write() as connection:
            connection.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}"))
        # Whoever may read can report, and nothing else.
        for words in (["status"], ["report", "mixed", "--format", "csv"]):
            code, output, errors = run(*words, "--store", role)
            assert (code, errors) == (0, "")
            assert output
        code, _, errors = run("sweep", "quickstart", "--inline", "--store", role)
        assert (code, errors.count("\n")) == (2, 1)
        assert "permission denied" in errors
        with store._database.write() as connection:
            connection.execute(text(f"GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}"))
        with open_store(role) as restricted, restricted.study("mixed").lock():
            held = restricted.study("mixed")
            writer = held.writer()
            with store._database.write() as connection:
                connection.execute(text(f"REVOKE INSERT, UPDATE ON ALL TABLES IN SCHEMA public FROM {name}"))
            with pytest.raises(StoreError, match=r"permission denied.*unsaved results are in"):
                writer.ended(held.pending()[0], "failed")


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM robustness_epochs WHERE trial = (SELECT min(id) FROM robustness_trials)",
        "UPDATE robustness_trials SET metric = metric + 0.001 WHERE id = (SELECT min(id) FROM robustness_trials)",
        "UPDATE robustness_trials SET metric_epoch = 2 WHERE id = (SELECT min(id) FROM robustness_trials)",
        "UPDATE robustness_epochs SET validation_auc = 0.999 WHERE epoch = 2 "
        "AND trial = (SELECT min(id) FROM robustness_trials)",
    ],
    ids=["epochs lost", "metric changed", "epoch changed", "epochs changed"],
)
def test_the_report_complains_if_a_metric_does_not_follow_from_its_epochs(
    change: str, whole: Path, tmp_path: Path
) -> None:
    file = shutil.copy(whole, tmp_path / "store.db")
    with open_store(f"sqlite:///{file}", create=False) as store:
        analysis = analyse(store.study("mixed"))
    assert analysis.results["contradictions"] == {"count": 0, "trials": []}
    assert not any("contradicts" in caution for caution in cautions(analysis))
    with closing(sqlite3.connect(file)) as plain:
        plain.execute(change)
        plain.commit()
    with open_store(f"sqlite:///{file}", create=False) as store:
        analysis = analyse(store.study("mixed"))
    assert analysis.results["contradictions"] == {"count": 1, "trials": ["0/mfvi"]}
    assert "result of 1 trial does not follow from the recorded epochs (0/mfvi)" in cautions(analysis)[0]
    _, _, errors = run("report", "mixed", "--format", "csv", "--store", f"sqlite:///{file}")
    assert errors.count("the result of 1 trial, such as 0/mfvi, does not follow") == 1
