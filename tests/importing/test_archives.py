"""Studies carried to another machine as an archive: `report --format archive`, `import`, and the sweep goes on."""

from __future__ import annotations

import gzip
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import trainables
from support.archives import lines_of, sealed, with_value
from support.databases import store_url as database
from support.hostile import is_one_safe_line
from support.studies import results, store_url, write_study
from support.trainables import quick

from robustness.cli import main
from robustness.errors import RobustnessError
from robustness.importing.own_stores import copy_studies, holds_studies
from robustness.store import open_store
from robustness.trial import EpochResult, Trial

ARCHIVE = "simulated.archive.jsonl.gz"
other_database = database
"""A second machine's store, on SQLite and on PostgreSQL."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sweep(folder: Path, store: str) -> int:
    words = ["sweep", str(folder / "simulated.yaml"), "--store", store, "--inline", "--no-report", "--quiet"]
    return main(words)


def half_swept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The store of a registered study whose sweep was interrupted in its fifth trial of ten."""
    begun = []

    def interrupted(trial: Trial) -> Iterator[EpochResult]:
        begun.append(trial.key)
        if len(begun) == 5:
            signal.raise_signal(signal.SIGINT)
        yield from quick(trial)

    url = store_url(folder, "here")
    study = write_study(folder)
    assert main(["plan", str(study), "--register", "--store", url]) == 0
    with monkeypatch.context() as patched:
        patched.setattr(trainables, "quick", interrupted)
        assert sweep(folder, url) == 130
    return url


def export(url: str, *words: str) -> int:
    return main(["report", "simulated", "--store", url, "--format", "archive", *words])


def output(url: str, kind: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert main(["report", "simulated", "--store", url, "--format", kind]) == 0
    return capsys.readouterr().out


def test_an_interrupted_sweep_goes_on_in_another_store_to_the_bytes_of_an_uninterrupted_one(
    other_database: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = half_swept(here, monkeypatch)
    assert export(url) == 0
    assert capsys.readouterr().out.splitlines()[-1] == ARCHIVE
    assert main(["import", ARCHIVE, "--store", other_database]) == 0
    printed = capsys.readouterr().out
    assert printed == f"copied study 'simulated' of {ARCHIVE} with 10 trials, 6 of them left to run, as 'simulated'\n"
    assert export(other_database, "--out", "back.jsonl.gz") == 0
    assert Path("back.jsonl.gz").read_bytes() == Path(ARCHIVE).read_bytes()
    for kind in ("csv", "json"):
        assert output(other_database, kind, capsys) == output(url, kind, capsys)
    with open_store(other_database) as store:
        before = store.study("simulated").trials()
    assert sweep(here, other_database) == 0
    with open_store(other_database) as store:
        after = store.study("simulated").trials()
    ended = (before["status"] == "finished").tolist()
    assert sum(ended) == 4
    assert after[ended].equals(before[ended])
    assert after["attempts"].tolist() == [1] * 10
    assert sweep(here, store_url(here, "whole")) == 0
    assert results(other_database) == results(store_url(here, "whole"))
    assert '"as_registered": true' in output(other_database, "json", capsys)


def test_a_finished_study_replaces_the_half_that_it_came_from(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url, other = half_swept(here, monkeypatch), store_url(here, "other")
    assert export(url, "--quiet") == 0
    assert main(["import", ARCHIVE, "--store", other]) == 0
    assert sweep(here, other) == 0
    assert export(other, "--quiet") == 0
    assert main(["import", ARCHIVE, "--store", url]) == 2
    assert "replace it with --replace" in capsys.readouterr().err
    assert main(["import", ARCHIVE, "--store", url, "--replace"]) == 0
    assert results(url) == results(other)


@pytest.fixture
def archive(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """The archive of an interrupted sweep, in the working folder without a store."""
    url = half_swept(here, monkeypatch)
    assert export(url, "--out", "carried.jsonl.gz") == 0
    for path in here.glob("here.db*"):
        path.unlink()
    capsys.readouterr()
    return here / "carried.jsonl.gz"


def test_a_dry_run_reads_everything_and_stores_nothing(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", archive.name, "--dry-run", "--store", "sqlite:///new.db"]) == 0
    assert "would copy study 'simulated' of carried.jsonl.gz with 10 trials, 6" in capsys.readouterr().out
    assert not Path("new.db").exists()
    archive.write_bytes(gzip.compress(gzip.decompress(archive.read_bytes())[:-100]))
    assert main(["import", archive.name, "--dry-run", "--store", "sqlite:///new.db"]) == 2


@pytest.mark.parametrize("name", ["carried.jsonl.gz", "damaged.archive.jsonl.gz"])
def test_a_damaged_archive_is_one_line_and_stores_nothing(
    name: str, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = archive.read_bytes()
    Path(name).write_bytes(content[: len(content) // 2] if name == archive.name else b"PK, or anything else")
    assert main(["import", name, "--store", "sqlite:///new.db"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"robustness: {name}: ")
    assert is_one_safe_line(error)
    assert not Path("new.db").exists()


def test_an_archive_is_known_by_its_content_or_its_name(archive: Path) -> None:
    Path("table.csv").write_text("arm,rate,metric\na,1,0.5\n", encoding="utf-8")
    Path("packed.csv.gz").write_bytes(gzip.compress(b"arm,rate,metric\na,1,0.5\n"))
    Path("renamed").write_bytes(archive.read_bytes())
    Path("broken.archive.jsonl.gz").touch()
    assert [
        holds_studies(name)
        for name in (
            archive.name,
            "renamed",
            "broken.archive.jsonl.gz",
            "table.csv",
            "packed.csv.gz",
            "no.jsonl.gz",
            ".",
        )
    ] == [True, True, True, False, False, False, False]


def test_an_archive_among_other_sources_is_refused(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for sources in ([archive.name, archive.name], [f"sgd={archive.name}"]):
        assert main(["import", *sources, "--study", "mine"]) == 2
        assert "is the archive of a study; import it by itself" in capsys.readouterr().err


def test_another_name_is_the_name_of_the_study(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", archive.name, "--study", "renamed", "--store", "sqlite:///new.db"]) == 0
    assert "as 'renamed'" in capsys.readouterr().out
    with open_store("sqlite:///new.db", create=False) as store:
        assert store.names() == ["renamed"]
        assert store.study("renamed").document()["name"] == "renamed"


def test_a_result_that_was_altered_does_not_match_the_trials_own_checksum(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for value, warns in ((None, False), (0.75, True)):
        content = archive.read_bytes()
        archive.write_bytes(content if value is None else with_value(content, "epochs", "loss", value))
        assert main(["import", archive.name, "--store", "sqlite:///new.db", "--replace"]) == 0
        capsys.readouterr()
        assert main(["report", "simulated", "--store", "sqlite:///new.db", "--format", "csv"]) == 0
        assert ("the result of 1 trial" in capsys.readouterr().err) is warns


def test_a_name_that_no_study_may_have_is_refused(archive: Path) -> None:
    lines = lines_of(archive.read_bytes())
    lines[0]["study"] = lines[2][0] = "../\x1b[31m"
    archive.write_bytes(sealed(lines))
    with pytest.raises(RobustnessError, match="the name of the study: must"):
        copy_studies(archive.name, None, None, "sqlite:///new.db", False, False)
    assert not Path("new.db").exists()


def test_runs_of_other_tools_need_a_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("runs.csv").write_text("arm,rate,metric\na,1,0.5\n", encoding="utf-8")
    assert main(["import", "runs.csv"]) == 2
    assert "--study NAME is required" in capsys.readouterr().err


def test_an_archive_has_no_figures(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert export(half_swept(here, monkeypatch), "--figures", "figures") == 2
    assert not Path(ARCHIVE).exists()
