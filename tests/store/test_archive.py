from __future__ import annotations

import gzip
import json
import math
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import Connection, Table, select, update
from support.archives import bytes_of, lines_of, place_of, sealed, with_value, write
from support.hostile import is_one_safe_line
from support.store_samples import MFVI, RADIAL, SampleStudy, plan_of
from support.stores import AWKWARD

from report.exports import results_csv
from robustness.errors import RobustnessError, StoreError
from robustness.guards.printable import printable
from robustness.store import Store, StudyStore, archive, archive_reading, open_store
from robustness.store.archive_reading import read_archive
from robustness.store.schema import studies
from robustness.trial import EpochResult, TrialKey

KEPT = Path(__file__).with_name("kept") / "before_the_move.db"
FLOATS = {"nll": math.nan, "loss": math.inf, "entropy": -0.0, "train_auc": 5e-324, "validation_auc": 0.1 + 0.2}
EXTREMES = EpochResult(1, {**FLOATS, "own": 1 / 3, "lost": -math.inf}, True, 0.7, {"steps": [0.1, math.nan, -math.inf]})
ENDED = TrialKey(0, "radial")


@pytest.fixture
def lived(store: Store) -> StudyStore:
    """A study with a finished, a failed and a running trial, notes, curves and predictions."""
    study = store.register(SampleStudy(extra={"limit": math.inf, "é": "漢\0"}), plan_of(SampleStudy()))
    with study.writer() as writer:
        for key in (ENDED, MFVI, RADIAL):
            writer.started(key, worker="node 漢")
            writer.epoch(key, EXTREMES)
        writer.ended(ENDED, "finished", 0.1 + 0.2, 1, seconds=1e-300)
        writer.ended(MFVI, "failed", error="ValueError: \0 \ud800")
    study.save_note("zebra", {"threshold": math.nan, "text": "\0"})
    study.save_note("Ärger", None)
    study.save_predictions(ENDED, "test", {"labels": [0, 1], "probabilities": np.array([[0.1, np.nan]])})
    return study


def moved(study: StudyStore, folder: Path) -> Store:
    return read_archive(write(folder / "moved.archive.jsonl.gz", bytes_of(study)))


def of_bits(values: dict[str, float]) -> dict[str, bytes]:
    """The bits of numbers; a zero has no sign, since SQLite keeps none."""
    return {name: struct.pack("<d", value + 0.0) for name, value in values.items()}


def test_a_moved_study_has_every_row_to_the_last_bit(lived: StudyStore, tmp_path: Path) -> None:
    lived.reopen(["running"])
    with moved(lived, tmp_path) as store:
        copy = store.study("sample")
        pd.testing.assert_frame_equal(copy.trials(), lived.trials(), check_exact=True)
        pd.testing.assert_frame_equal(copy.epochs(), lived.epochs(), check_exact=True)
        # A list with NaN in it is equal to no other.
        assert copy.curves().map(repr).equals(lived.curves().map(repr))
        (first, *_) = copy.epochs().to_dict("records")
        measured = {**FLOATS, "own": 1 / 3, "lost": -math.inf}
        assert of_bits({name: float(first[name]) for name in measured}) == of_bits(measured)
        assert copy.document() == lived.document()
        assert copy.provenance() == lived.provenance()
        assert repr(copy.note("zebra")) == repr(lived.note("zebra"))
        assert copy.note("Ärger") is None
        (arrays,) = copy.predictions("test").values()
        assert {name: array.tobytes() for name, array in arrays.items()} == {
            name: array.tobytes() for name, array in lived.predictions("test")[ENDED].items()
        }


def test_the_same_study_is_the_same_bytes_in_every_store(
    lived: StudyStore, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = bytes_of(lived)
    assert bytes_of(lived) == whole
    assert whole[3:8] == bytes(5), "a gzip header with a file's name or time"
    with open_store(f"sqlite:///{tmp_path / 'other.db'}") as other:
        # Its rows then have other numbers.
        AWKWARD["one pair"](other)
        other.register(SampleStudy("before"), plan_of(SampleStudy("before")))
        with moved(lived, tmp_path) as held:
            copy = other.copy(held.study("sample"), "sample")
        assert bytes_of(copy) == whole
        with moved(copy, tmp_path) as held:
            store.copy(held.study("sample"), "sample", replace=True)
    monkeypatch.setattr(archive, "CHUNK", 1)
    assert bytes_of(store.study("sample")) == whole


def test_a_running_trial_is_archived_as_planned_without_results(lived: StudyStore, tmp_path: Path) -> None:
    assert lived.states()[RADIAL] == "running"
    with moved(lived, tmp_path) as store:
        copy = store.study("sample")
        trials = copy.trials().set_index(["configuration", "arm"])
        assert trials.loc[RADIAL[:2], "status"] == "planned"
        assert trials.loc[RADIAL[:2], "attempts"] == 0
        assert trials.loc[RADIAL[:2], ["started", "worker", "metric", "checksum"]].isna().all()
        assert set(copy.epochs()["arm"] + copy.epochs()["configuration"].astype(str)) == {"radial0", "mfvi1"}
        assert len(copy.curves()) == 2
    assert lived.states()[RADIAL] == "running"


def test_an_archive_is_of_one_moment_while_others_write(
    lived: StudyStore, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = bytes_of(lived)
    count = archive._count

    def written_before_it_is_counted(connection: Connection, table: Table, study: int) -> int:
        with open_store(store_url) as other:
            other.study("sample").save_note(f"before {table.name}", 1)
        return count(connection, table, study)

    monkeypatch.setattr(archive, "_count", written_before_it_is_counted)
    assert bytes_of(lived) == whole
    assert lived.note("before robustness_notes") == 1


def test_nothing_of_the_database_is_in_an_archive(lived: StudyStore, store: Store) -> None:
    with store.writing() as connection:
        token = connection.scalar(select(studies.c.writer))
    assert token
    whole = bytes_of(lived)
    assert str(token) not in gzip.decompress(whole).decode()
    lines = lines_of(whole)
    columns = {name for line in lines if isinstance(line, dict) for name in line.get("columns", ())}
    assert not columns & {"id", "study", "writer"}
    line, place = place_of(lines, "epochs", "trial")
    assert [row[place] for row in lines[line : line + 2]] == [1, 2]


@pytest.mark.parametrize("name", ["kept_sweep", "kept_partial", "kept_search", "kept_regression"])
def test_studies_of_an_older_store_can_be_moved(name: str, tmp_path: Path) -> None:
    shutil.copy(KEPT, tmp_path / "kept.db")
    with open_store(f"sqlite:///{tmp_path / 'kept.db'}", create=False) as store:
        study = store.study(name)
        with moved(study, tmp_path) as held:
            assert results_csv(held.study(name)) == results_csv(study)
            assert bytes_of(held.study(name)) == bytes_of(study)


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_studies_can_be_moved(name: str, tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        study = AWKWARD[name](store)
        study.plan_again()
        with moved(study, tmp_path) as held:
            assert results_csv(held.study(study.name)) == results_csv(study)


def test_a_damaged_document_is_neither_archived_nor_copied(lived: StudyStore, store: Store, tmp_path: Path) -> None:
    with store.writing() as connection:
        connection.execute(update(studies).values(document={**lived.document(), "limit": 3}))
    with pytest.raises(StoreError, match="does not match its checksum"):
        bytes_of(lived)
    with (
        open_store(f"sqlite:///{tmp_path / 'other.db'}") as other,
        pytest.raises(StoreError, match="does not match its checksum"),
    ):
        other.copy(lived, "copied")


def refused(content: bytes, folder: Path) -> str:
    """The line with which an archive is refused."""
    path = write(folder / "odd.archive.jsonl.gz", content)
    with pytest.raises(RobustnessError) as refusal:
        read_archive(path)
    line = printable(refusal.value)
    assert line.startswith(f"{path}: ")
    assert is_one_safe_line(line)
    return line.removeprefix(f"{path}: ")


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    with open_store(f"sqlite:///{tmp_path / 'whole.db'}") as store:
        study = store.register(SampleStudy(), plan_of(SampleStudy()))
        with study.writer() as writer:
            for key in (ENDED, MFVI):
                writer.started(key)
                writer.epoch(key, EpochResult(1, {"nll": 0.5}, curves={"steps": [0.5]}))
                writer.ended(key, "finished", 0.5, 1)
        study.save_note("note", 1)
        study.save_predictions(ENDED, "test", {"labels": [0, 1]})
        return bytes_of(study)


DEEP: Any = json.loads("[" * 60 + "]" * 60)
VALUES: dict[str, tuple[str, str, Any, str]] = {
    "text for an integer": ("trials", "position", "0", "position: must be an integer of 32 bits, found '0'"),
    "true for an integer": ("trials", "position", True, "position: must be an integer of 32 bits, found True"),
    "a number for an integer": ("trials", "replicate", 0.5, "replicate: must be an integer"),
    "an integer too large": ("trials", "attempts", 2**31, "attempts: must be an integer of 32 bits"),
    "an integer for a number": ("epochs", "nll", 1, "nll: must be a number with a decimal point, found 1"),
    "text for a number": ("epochs", "seconds", "NaN", "seconds: must be a number"),
    "nothing for a number": ("epochs", "seconds", None, "seconds: must be a number"),
    "an infinite time": ("trials", "started", {"$float": "inf"}, "started: must be a finite number"),
    "a mark that is no number": ("trials", "started", {"$float": []}, "is not JSON"),
    "an integer for true": ("epochs", "pretraining", 0, "pretraining: must be true or false, found 0"),
    "a list for text": ("trials", "worker", ["a"], "worker: must be a text"),
    "a long text": ("trials", "arm", "a" * 201, "arm: must be a text of at most 200 characters"),
    "a NUL": ("trials", "error", "a\0", "error: must be a text"),
    "a lone surrogate": ("trials", "error", "\ud800", "error: must be a text"),
    "an unknown status": ("trials", "status", "running", "status: must be one of planned, finished"),
    "an unknown stage": ("trials", "stage", "later", "stage: must be one of sweep"),
    "a list for an object": ("studies", "versions", [], "versions: must be an object"),
    "an object for a list": ("curves", "values", {}, "values: must be a list"),
    "a deep value": ("notes", "content", DEEP, "content: must be a value of at most 50 levels"),
    "bytes that are not base64": ("predictions", "content", "é", "content: must be bytes in base64"),
    "base64 with more in it": ("predictions", "content", "YQ==\n", "content: must be bytes in base64"),
    "another document": ("studies", "document", {"name": "sample"}, "document: does not match its checksum"),
    "another name": ("studies", "name", "other", "name: must be that on the first line, 'sample', found 'other'"),
    "an unknown trial": ("epochs", "trial", 6, "do not fit together (FOREIGN KEY"),
    "an unknown configuration": ("trials", "configuration", 77, "do not fit together (FOREIGN KEY"),
    "a trial twice": ("trials", "arm", "radial", "do not fit together (UNIQUE"),
    "an epoch twice": ("epochs", "trial", 2, "do not fit together (UNIQUE"),
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_that_the_column_cannot_have_is_one_line(kind: str, whole: bytes, tmp_path: Path) -> None:
    table, column, value, says = VALUES[kind]
    assert says in refused(with_value(whole, table, column, value), tmp_path)


def changed(line: int, value: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda lines: [*lines[:line], value, *lines[line + 1 :]]


def with_head(**changes: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda lines: [{**lines[0], **changes}, *lines[1:]]


LINES: dict[str, tuple[Callable[[list[Any]], list[Any]], str]] = {
    "nothing": (lambda lines: lines[:0], "line 1: is not the first line of a study's archive"),
    "another format": (with_head(format="other"), "line 1: is not the first line"),
    "a list at the start": (changed(0, []), "line 1: is not the first line"),
    "a newer version": (with_head(version=2), "a newer version of robustness wrote the archive"),
    "a newer schema": (with_head(schema="9999"), "a newer version of robustness wrote the archive"),
    "a schema that cannot be one": (with_head(schema=[]), "a newer version of robustness wrote the archive"),
    "no counts": (with_head(rows=None), "rows: must have the number of rows"),
    "a negative count": (with_head(rows={"studies": -1}), "rows: must have the number of rows"),
    "counts of other tables": (with_head(rows={"studies": 1}), "rows: must have one study and the tables"),
    "an endless count": (
        lambda lines: with_head(rows={**lines[0]["rows"], "epochs": 10**30})(lines),
        "exceed the limit of 2,000,000; if you trust it",
    ),
    "not JSON": (changed(2, b"{]\n"), "line 3: is not JSON"),
    "not UTF-8": (changed(2, b"\xff\n"), "line 3: is not JSON"),
    "endless nesting": (changed(2, b"[" * 100_000 + b"\n"), "line 3: is nested too deeply"),
    "an endless number": (changed(2, b"1" * 5_000 + b"\n"), "line 3: is not JSON"),
    "a row that is an object": (changed(2, {}), "line 3: must be a row of studies"),
    "a row that is short": (changed(2, [1]), "line 3: must be a row of studies, a list of 9 values"),
    "a row too few": (lambda lines: [*lines[:2], *lines[3:]], "line 3: must be a row of studies"),
    "a row too many": (lambda lines: [*lines[:3], *lines[2:]], "line 4: must begin the table 'configurations'"),
    "an unknown column": (changed(1, {"table": "studies", "columns": ["writer"]}), "must begin the table 'studies'"),
    "a column that is a list": (changed(1, {"table": "studies", "columns": [[]]}), "must begin the table 'studies'"),
    "a column twice": (changed(1, {"table": "studies", "columns": ["name", "name"]}), "must name each of the columns"),
    "too few columns": (changed(1, {"table": "studies", "columns": ["name"]}), "must name each of the columns"),
}


@pytest.mark.parametrize("kind", LINES)
def test_a_line_that_does_not_belong_there_is_one_line(kind: str, whole: bytes, tmp_path: Path) -> None:
    change, says = LINES[kind]
    assert says in refused(sealed(change(lines_of(whole))), tmp_path)


def test_a_file_that_was_altered_or_cut_off_is_one_line(whole: bytes, tmp_path: Path) -> None:
    content = gzip.decompress(whole)
    assert "is cut off" in refused(whole[:-20], tmp_path)
    assert "is cut off after line 4" in refused(gzip.compress(b"".join(content.splitlines(True)[:4])), tmp_path)
    assert "is cut off" in refused(gzip.compress(content[:-1]), tmp_path)
    assert "is cut off" in refused(b"", tmp_path)
    altered = gzip.compress(content.replace(b"0.5", b"0.6", 1))
    assert "the checksum does not match: the file is damaged or was altered" in refused(altered, tmp_path)
    assert "must be the last line" in refused(gzip.compress(content + b"\n"), tmp_path)
    assert "must be the last line" in refused(whole + whole, tmp_path)
    assert "cannot be unpacked" in refused(content, tmp_path)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    assert refused(bytes(flipped), tmp_path)


@pytest.mark.parametrize(
    ("name", "most"), [("ARCHIVE_LINE_BYTES", 300), ("RUNS_BYTES", 300), ("RUNS_BYTES", 3_000), ("RUNS_ROWS", 3)]
)
def test_a_file_above_a_limit_is_refused_with_the_name_of_the_limit(
    name: str, most: int, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(whole) < 30_000
    monkeypatch.setenv(f"ROBUSTNESS_LIMIT_{name}", str(most))
    line = refused(whole, tmp_path)
    assert f"exceed the limit of {most:,}; if you trust it, raise the limit with ROBUSTNESS_LIMIT_{name}=" in line


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * 100_000_000, compresslevel=1)
    assert len(bomb) < 1_000_000
    assert "bytes exceed the limit of 30,000,000" in refused(bomb, tmp_path)


@pytest.mark.parametrize("chunk", [1, 2])
def test_rows_are_read_in_chunks_of_any_size(
    chunk: int, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_reading, "CHUNK", chunk)
    with read_archive(write(tmp_path / "a", whole)) as store:
        assert bytes_of(store.study("sample")) == whole


def test_an_archive_of_an_older_schema_may_lack_a_column(whole: bytes, tmp_path: Path) -> None:
    lines = lines_of(whole)
    start, place = place_of(lines, "trials", "own_checksum")
    for line in lines[start : start + 6]:
        del line[place]
    lines[start - 1]["columns"].remove("own_checksum")
    with read_archive(write(tmp_path / "a", sealed([{**lines[0], "schema": "0004"}, *lines[1:]]))) as store:
        assert bytes_of(store.study("sample")) == whole
