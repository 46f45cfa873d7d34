"""Nothing of the user's is overwritten: outputs replace outputs, and are written whole."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support.files import photographs
from support.hostile import is_one_safe_line
from support.stores import fill, made_study

from report.sections import make_sections
from robustness.cli import main
from robustness.guards.limits import LIMITS
from robustness.store import open_store

FORMATS = ("html", "json", "csv", "parquet", "archive")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "robustness.db"
    with open_store(f"sqlite:///{path}") as opened:
        fill(opened, made_study(configurations=4))
    return path


@pytest.fixture
def folder(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(store, tmp_path / "robustness.db")
    (tmp_path / "study.yaml").write_text("name: made\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(*words: str) -> int:
    return main(["report", "made", "--quiet", *words])


def one_with_pictures(sections: Iterable[Any]) -> list[Any]:
    """The first section that draws something: drawing all would take most of this file's time."""
    return [section for section in sections if section.pictures][:1]


def contents(folder: Path) -> dict[str, bytes]:
    # A reader of SQLite may leave its index of the log behind.
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


TAKEN = (
    "robustness.db",
    "robustness.db-wal",
    "robustness.db-shm",
    "robustness.db-journal",
    "robustness.db.lock",
    "made.lock",
    "made.unsaved.jsonl",
    "study.yaml",
    "STUDY.YAML",
    "new.yml",
    "other.sqlite3",
    "model.pt",
)


@pytest.mark.parametrize("name", TAKEN)
def test_an_output_never_takes_the_name_of_a_store_or_a_study(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(folder)
    assert report("--format", "csv", "--out", name) == 2
    assert is_one_safe_line(capsys.readouterr().err)
    assert contents(folder) == before


FOREIGN = {
    "notes.txt": b"my notes",
    "page.html": b"<!doctype html><title>mine</title>",
    "results.csv": b"arm,metric\na,1\n",
    "results.json": b'{"study": "mine"}',
    "table.parquet": b"PAR1 mine PAR1",
    "binary": bytes(range(256)),
    "packed.jsonl.gz": gzip.compress(b'{"format": "mine"}\n'),
    "study": b"# pip install robustness-study\nname: a\n",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_robustness_did_not_write_is_kept(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).write_bytes(FOREIGN[name])
    (folder / "link.html").symlink_to(folder / name)
    for path in (name, "link.html", f"./{name}"):
        assert report("--format", "csv", "--out", path) == 2
        line = capsys.readouterr().err
        assert is_one_safe_line(line)
        assert "--force" in line
        assert (folder / name).read_bytes() == FOREIGN[name]
    assert report("--format", "csv", "--out", name, "--force") == 0
    assert (folder / name).read_bytes() != FOREIGN[name]


@pytest.mark.parametrize("kind", FORMATS)
def test_an_output_replaces_an_earlier_one_of_any_format(kind: str, folder: Path) -> None:
    assert report("--format", kind, "--out", "out") == 0
    before = (folder / "out").read_bytes()
    assert report("--format", kind, "--out", "out") == 0
    assert (folder / "out").read_bytes() == before
    assert report("--format", "csv", "--out", "out") == 0
    assert ((folder / "out").read_bytes() == before) == (kind == "csv")
    assert not list(folder.glob(".*.part"))


def test_a_link_keeps_pointing_where_it_does(folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "link.csv").symlink_to(folder / "there" / "table.csv")
    for _ in range(2):
        assert report("--format", "csv", "--out", "link.csv") == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "there" / "table.csv").is_file()


@pytest.mark.parametrize(
    "out", ["/dev/full", "/dev/null", "fifo", "loop", "x" * 300, "study.yaml/below", "a\0b", "/proc/x"]
)
def test_what_cannot_be_written_is_one_line(out: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    for words in (["--format", "csv", "--out", out], ["--format", "csv", "--out", "ok.csv", "--figures", out]):
        assert report(*words) == 2
        assert is_one_safe_line(capsys.readouterr().err)
    assert Path("/dev/null").is_char_device()


def test_the_page_that_a_sweep_writes_replaces_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "made.html").write_text("mine", encoding="utf-8")
    assert main(["report", "made"]) == 2
    assert (folder / "made.html").read_text(encoding="utf-8") == "mine"


def test_figures_replace_figures_only(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("report.page.make_sections", lambda analysis: one_with_pictures(make_sections(analysis)))
    assert report("--format", "csv", "--out", "a.csv", "--figures", "figures") == 0
    written = contents(folder / "figures")
    assert len(written) >= 2
    assert report("--format", "csv", "--out", "a.csv", "--figures", "figures") == 0
    assert contents(folder / "figures") == written
    for suffix in (".svg", ".pdf"):
        mine = next(name for name in written if name.endswith(suffix))
        (folder / "figures" / mine).write_bytes(b"mine")
        assert report("--format", "csv", "--out", "a.csv", "--figures", "figures") == 2
        assert (folder / "figures" / mine).read_bytes() == b"mine"
        (folder / "figures" / mine).unlink()


@pytest.mark.parametrize("held", ["notes.txt", ".lock", "images.npy", "prepared.json", "sub/file"])
def test_a_preparation_takes_no_folder_that_holds_something_else(
    held: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images, labels = photographs(tmp_path, patients=4)
    out = tmp_path / "out"
    (out / held).parent.mkdir(parents=True)
    (out / held).write_text("mine", encoding="utf-8")
    words = ["prepare", "retinopathy", "--images", str(images), "--labels", str(labels), "--workers", "1", "--quiet"]
    for place in (out, out / held):
        assert main([*words, "--out", str(place)]) == 2
        assert is_one_safe_line(capsys.readouterr().err)
        assert contents(out) == {held: b"mine"}


def test_the_limits_in_the_documentation_are_those_of_the_code() -> None:
    rows = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    documented = {row.split("|")[1].strip(): row.split("|")[2].strip() for row in rows if row.startswith("| `")}
    assert documented == {f"`{name.upper()}`": f"{limit.default:,} {limit.unit}" for name, limit in LIMITS.items()}
