"""A database that goes away under a sweep, and the file of results that an outage leaves."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support.databases import on_server
from support.store_samples import MFVI, RADIAL, SampleStudy, epoch, plan_of

from robustness.errors import StoreError
from robustness.store import StudyStore, open_store
from robustness.store.connection import read_url

PAGE = 4096


def overwrite(content: bytes) -> Callable[[Path], object]:
    def write(file: Path) -> None:
        with file.open("r+b") as opened:
            opened.truncate(0)
            opened.write(content)

    return write


def replace_by_store(file: Path) -> None:
    other = file.with_name("other.db")
    with open_store(f"sqlite:///{other}") as store:
        study = SampleStudy()
        store.register(study, plan_of(study))
    other.replace(file)


def replace_by_text(file: Path) -> None:
    other = file.with_name("other")
    other.write_text("notes")
    other.replace(file)


def delete_with_log(file: Path) -> None:
    for path in file.parent.glob("store.db*"):
        path.unlink()


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def replace_by_nothing(file: Path) -> None:
    file.unlink()
    file.touch()


GONE: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "deleted with its log": delete_with_log,
    "moved away": lambda file: file.rename(file.with_name("moved.db")),
    "folder moved away": lambda file: file.parent.rename(file.parent.with_name("moved")),
    "folder deleted": lambda file: shutil.rmtree(file.parent),
    "replaced by another store": replace_by_store,
    "replaced by text": replace_by_text,
    "replaced by a folder": replace_by_folder,
    "replaced by nothing": replace_by_nothing,
}
SPOILT: dict[str, Callable[[Path], object]] = {
    "emptied": overwrite(b""),
    "overwritten with text": overwrite(b"notes\n" * 2000),
    "overwritten with zeros": overwrite(bytes(10 * PAGE)),
}


@pytest.mark.parametrize("attack", [*GONE, *SPOILT])
def test_a_database_that_goes_away_under_a_sweep_is_missed_and_its_results_are_kept(
    attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / "folder"
    folder.mkdir()
    file, study = folder / "store.db", SampleStudy()
    with open_store(f"sqlite:///{file}") as store:
        sample = store.register(study, plan_of(study))
        with sample.lock():
            writer = sample.writer(flush_every=1e9)
            writer.started(MFVI, 1)
            writer.epoch(MFVI, epoch(1))
            writer.ended(MFVI, "finished", 0.51, 1)
            # Nothing of it is in the log only, which an attacker could leave in place.
            if attack in SPOILT:
                checkpoint(file)
            {**GONE, **SPOILT}[attack](file)
            writer.started(RADIAL, 1)
            with pytest.raises(StoreError) as refusal:
                writer.flush()
            assert "\n" not in str(refusal.value)
            assert "unsaved results are in" in str(refusal.value)
    if attack in SPOILT:
        return
    assert "to go on, rename" in str(refusal.value)
    copies = [*folder.glob("store.db.rescued"), *tmp_path.glob("store.db.rescued")]
    spills = [*folder.glob("*.jsonl"), *tmp_path.glob("*.jsonl")]
    again = tmp_path / "again"
    again.mkdir()
    copies[0].rename(again / "store.db")
    spills[0].rename(again / "store.db.sample.unsaved.jsonl")
    with open_store(f"sqlite:///{again / 'store.db'}") as store, store.study("sample").lock():
        states = store.study("sample").states()
        assert (states[MFVI], states[RADIAL]) == ("finished", "running")
        assert len(store.study("sample").epochs()) == 1


def checkpoint(file: Path) -> None:
    with closing(sqlite3.connect(file)) as plain:
        plain.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_deleted_store_is_noticed_while_nothing_is_written(tmp_path: Path) -> None:
    now = [0.0]
    file, study = tmp_path / "store.db", SampleStudy()
    with open_store(f"sqlite:///{file}") as store:
        writer = store.register(study, plan_of(study)).writer(clock=lambda: now[0])
        writer.watch()
        file.unlink()
        now[0] = 2.5
        with pytest.raises(StoreError, match=r"was deleted while it was in use; its contents are saved in"):
            writer.watch()


def test_a_full_disk_costs_nothing_that_was_saved(tmp_path: Path) -> None:
    file, study = tmp_path / "store.db", SampleStudy()
    with open_store(f"sqlite:///{file}") as store:
        sample = store.register(study, plan_of(study))
        with sample.writer() as writer:
            writer.ended(MFVI, "finished", 0.5, 1)
        with store._database.write() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        now = [0.0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        writer = sample.writer(flush_every=1e9, patience=20, clock=lambda: now[0], sleep=sleep)
        for number in range(1, 400):
            writer.epoch(RADIAL, epoch(number, nll=number / 7, own=number / 3))
        with pytest.raises(StoreError, match=r"disk is full.*unsaved results are in"):
            writer.flush()
        assert sample.states()[MFVI] == "finished"
    with open_store(f"sqlite:///{file}") as store:
        sample = store.study("sample")
        with sample.lock():
            assert len(sample.epochs()) == 399


def test_a_dropped_database_is_not_waited_for(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study, name = SampleStudy(), read_url(postgres_url).database
    with open_store(postgres_url) as store:
        writer = store.register(study, plan_of(study)).writer(flush_every=1e9)
        writer.started(RADIAL, 1)
        on_server(f"DROP DATABASE {name} WITH (FORCE)")
        try:
            with pytest.raises(StoreError, match=r"does not exist.*unsaved results are in"):
                writer.flush()
        finally:
            on_server(f"CREATE DATABASE {name}")


def spilled(study: StudyStore) -> bytes:
    """The spill file of four trials that ended during an outage."""
    writer = study.writer(flush_every=1e9, flush_ends=False)
    for trial in plan_of(SampleStudy()).trials[:4]:
        writer.started(trial.key, 1)
        writer.epoch(trial.key, epoch(1))
        writer.ended(trial.key, "finished", 0.51, 1)
    writer._write_spill()
    return study.spill.read_bytes()


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_file_of_unsaved_results_costs_its_damaged_trials_alone(seed: int, tmp_path: Path) -> None:
    draws, study = random.Random(seed), SampleStudy()
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        sample = store.register(study, plan_of(study))
        content = bytearray(spilled(sample))
        head, *lines = bytes(content).splitlines(keepends=True)
        if seed % 2:
            content = content[: draws.randrange(len(content))]
        else:
            for _ in range(draws.randint(1, 3)):
                content[draws.randrange(len(content))] ^= 1 << draws.randrange(8)
        sample.spill.write_bytes(content)
        # A line without its end is whole, too.
        intact = sum(line.rstrip(b"\n") in bytes(content).splitlines() for line in lines)
        readable = bytes(content).startswith(head.rstrip(b"\n"))
        if readable and intact == 4:
            with sample.lock():
                pass
        else:
            message = f"{intact} of 4 trials in it were saved" if readable else "is damaged or of another version"
            with pytest.raises(StoreError, match=message), sample.lock():
                pass
            assert readable != sample.spill.exists()
        saved = intact if readable else 0
        assert sample.counts().get("finished", 0) == saved
        assert len(sample.epochs()) == saved
