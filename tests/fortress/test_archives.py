"""Archives, arrays and tables of strangers: bounded before they are taken in; what is no file is refused at once."""

from __future__ import annotations

import gzip
import json
import shutil
import signal
import struct
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.files import photographs, write_idx_files
from support.hostile import READ, answer_of, encoded, is_one_safe_line, mutated, special_files
from support.importing import imported

from robustness.errors import RobustnessError, StudyFileError
from robustness.study.yaml_reader import read_file
from robustness.tasks import npz
from robustness.tasks.fundus import retinopathy
from robustness.tasks.fundus.label_table import read_labels
from robustness.tasks.fundus.photographs import Source
from robustness.tasks.fundus.preparation import prepare
from robustness.trainables.continual import fashion_mnist
from robustness.trainables.regression.data_sets import DATA_SETS, _read

READERS: dict[str, Callable[[Path], object]] = {
    "study": lambda path: read_file(path, StudyFileError),
    "runs": lambda path: imported(f"arm={path}"),
    "labels": lambda path: read_labels(path, {}, (0.2, 0.2), 0),
    "npz": lambda path: npz.load(npz.Options(file=str(path))),
    "archive": lambda path: Source(path).find(["1"]),
    "prepared": lambda path: retinopathy.load(retinopathy.Options(folder=str(path))),
    "idx": lambda path: fashion_mnist._read(path, "t10k-labels-idx1-ubyte", checksums=False),
    "uci": lambda path: _read.__wrapped__(path, DATA_SETS["yacht"]),
}


@pytest.fixture(autouse=True)
def within_seconds() -> Iterator[None]:
    """A reader that waits for a FIFO is ended, and its test fails."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("a reader hangs"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def refused(read: Callable[[], object], words: str = ".") -> str:
    """The message of a reader that refuses."""
    with pytest.raises(RobustnessError, match=words) as refusal:
        read()
    assert is_one_safe_line(str(refusal.value))
    return str(refusal.value)


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused_at_once(reader: str, tmp_path: Path) -> None:
    with special_files(tmp_path) as paths:
        for kind, path in paths.items():
            if not (reader == "archive" and kind == "folder"):
                refused(lambda path=path: READERS[reader](path))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("reader", "limit", "content"),
    [
        ("study", "STUDY_BYTES", "a: " + "x" * 2000),
        ("runs", "RUNS_BYTES", "metric\n" + "1\n" * 2000),
        ("runs", "RUNS_ROWS", "metric\n" + "1\n" * 2000),
        ("runs", "TABLE_COLUMNS", ",".join(f"c{n}" for n in range(2000)) + "\n"),
        ("runs", "RUNS_CELLS", "metric,a,b\n" + "1,2,3\n" * 700),
        ("labels", "TABLE_BYTES", "image,level\n" + "".join(f"{n},0\n" for n in range(2000))),
        ("labels", "TABLE_ROWS", "image,level\n" + "".join(f"{n},0\n" for n in range(2000))),
        ("labels", "TABLE_COLUMNS", ",".join(f"c{n}" for n in range(2000)) + "\n"),
        ("labels", "TABLE_CELLS", "image,level,x\n" + "".join(f"{n},0,\n" for n in range(700))),
        ("uci", "TABLE_BYTES", "1 2 3 4 5 6 7\n" * 308),
        ("idx", "ARRAY_BYTES", "x" * 2000),
    ],
)
def test_a_limit_names_itself_and_can_be_raised(
    reader: str, limit: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text(content, encoding="utf-8")
    monkeypatch.setenv(f"ROBUSTNESS_LIMIT_{limit}", "1500")
    line = refused(lambda: READERS[reader](path), "exceed the limit of 1,500")
    assert f"raise the limit with ROBUSTNESS_LIMIT_{limit}=" in line
    monkeypatch.setenv(f"ROBUSTNESS_LIMIT_{limit}", "1000000")
    assert "exceed the limit" not in answer_of(READERS[reader], path)


def test_a_limit_that_is_no_number_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("many", "0", "-1", "1e999", "nan"):
        monkeypatch.setenv("ROBUSTNESS_LIMIT_STUDY_BYTES", value)
        refused(lambda: read_file(Path(__file__), StudyFileError), "ROBUSTNESS_LIMIT_STUDY_BYTES: must be an integer")


def archive(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_a_member_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path / "bomb.zip", {"1.png": bytes(101_000_000)})
    assert path.stat().st_size < 150_000
    refused(lambda: Source(path).read("1.png"), "ROBUSTNESS_LIMIT_PICTURE_BYTES")


@pytest.mark.parametrize("declared", [0, 10, 2**31, 2**32 - 2])
def test_a_member_that_lies_about_its_size_is_no_picture(declared: int, tmp_path: Path) -> None:
    path = archive(tmp_path / "liar.zip", {"1.png": bytes(5_000)})
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, content.rindex(b"PK\x01\x02") + 24, declared)
    path.write_bytes(content)
    with pytest.raises((RobustnessError, zipfile.BadZipFile, ValueError, EOFError)):
        Source(path).read("1.png")


def test_the_directory_of_an_archive_is_bounded_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "many.zip", {f"{n}.png": b"" for n in range(300)}, zipfile.ZIP_STORED)
    assert len(Source(path).files()) == 300
    monkeypatch.setenv("ROBUSTNESS_LIMIT_ARCHIVE_MEMBERS", "200")
    refused(lambda: Source(path), "300 files exceed the limit of 200")
    content = bytearray(path.read_bytes())
    struct.pack_into("<HH", content, content.rindex(b"PK\x05\x06") + 8, 1, 1)
    path.write_bytes(content)
    refused(lambda: Source(path), "files exceed the limit of 200")
    monkeypatch.delenv("ROBUSTNESS_LIMIT_ARCHIVE_MEMBERS")
    struct.pack_into("<I", content, content.rindex(b"PK\x05\x06") + 12, 2**32 - 2)
    path.write_bytes(content)
    refused(lambda: Source(path))


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (tmp_path / f"{number}.png").touch()
    (tmp_path / "again").symlink_to(tmp_path)
    assert len(Source(tmp_path).files()) == 30
    monkeypatch.setenv("ROBUSTNESS_LIMIT_ARCHIVE_MEMBERS", "20")
    refused(lambda: Source(tmp_path).files(), "files exceed the limit of 20")


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_archive_gets_one_line(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    whole = archive(tmp_path / "whole.zip", {f"{n}.png": encoded(np.zeros((4, 4), dtype=np.uint8)) for n in range(5)})
    path = tmp_path / "damaged.zip"
    path.write_bytes(mutated(whole.read_bytes(), rng))
    assert is_one_safe_line(answer_of(READERS["archive"], path))


def arrays(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for split, count in (("train", 6), ("val", 4), ("test", 4)):
        made[f"{split}_images"] = np.full((count, 8, 8), 9, dtype=np.uint8)
        made[f"{split}_labels"] = np.arange(count) % 2
    return made | changes


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


HEADERS = {
    "10^12 pictures": "{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000, 8, 8), }",
    "negative": "{'descr': '|u1', 'fortran_order': False, 'shape': (-1, 8, 8), }",
    "overflow": "{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296, 8), }",
    "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (6, 8, 8), }",
    "100 dimensions": "{'descr': '|u1', 'fortran_order': False, 'shape': (" + "1," * 20 + "), }",
    "text": "{'descr': '<U9', 'fortran_order': False, 'shape': (6, 8, 8), }",
    "a call": "{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': (6, 8, 8), }",
    "no dictionary": "[1, 2, 3]",
    "a missing key": "{'descr': '|u1', 'shape': (6, 8, 8), }",
    "a huge type": "{'descr': '|V2000000000', 'fortran_order': False, 'shape': (6,), }",
    "deep": "[" * 100,
    "nothing": "",
}


@pytest.mark.parametrize("name", HEADERS)
def test_an_array_that_lies_about_its_shape_is_refused(name: str, tmp_path: Path) -> None:
    content = BytesIO()
    np.savez(content, **arrays())
    path = tmp_path / "lies.npz"
    with zipfile.ZipFile(content) as source, zipfile.ZipFile(path, "w") as target:
        for entry in source.infolist():
            lie = entry.filename == "train_images.npy"
            target.writestr(entry.filename, npy(HEADERS[name], bytes(384)) if lie else source.read(entry))
    refused(lambda: READERS["npz"](path), "task 'npz'")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"train_images": np.zeros((6, 0, 8), dtype=np.uint8)}, "no pixels"),
        ({"train_images": np.zeros((6, 8, 8, 999), dtype=np.uint8)}, "more than 64 channels"),
        ({"train_images": np.zeros((0, 8, 8), dtype=np.uint8)}, "train_images has shape"),
        ({"train_images": np.zeros((6, 8, 8))}, "must be uint8"),
        ({"train_labels": np.zeros(6)}, "must be 6 integers"),
        ({"train_labels": np.array([0, 1, 2, 3, 4, 10**15])}, "classes exceed the limit of 1,000"),
        ({"train_labels": np.array([0, 1, 2, 3, 4, -1])}, "must be 6 integers"),
        ({"train_labels": np.array([None] * 6, dtype=object)}, "holds objects"),
    ],
)
def test_arrays_that_cannot_be_trained_on_are_named(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.npz"
    np.savez(path, **arrays(**change))
    refused(lambda: READERS["npz"](path), words)


def test_a_good_file_is_read_and_a_bomb_of_arrays_is_not(tmp_path: Path) -> None:
    path = tmp_path / "good.npz"
    np.savez_compressed(path, **arrays(test_images=np.asfortranarray(arrays()["test_images"])))
    assert npz.load(npz.Options(file=str(path))).train.images.shape == (6, 8, 8, 1)
    np.savez_compressed(path, **arrays(train_images=np.zeros((7_000, 240, 240), dtype=np.uint8)))
    assert path.stat().st_size < 500_000
    refused(lambda: READERS["npz"](path), "ROBUSTNESS_LIMIT_ARRAY_BYTES")


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_array_gets_one_line(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "damaged.npz"
    np.savez_compressed(path, **arrays())
    path.write_bytes(mutated(path.read_bytes(), np.random.default_rng(seed)))
    assert is_one_safe_line(answer_of(READERS["npz"], path))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    images, labels = photographs(folder, patients=6)
    prepare(images, read_labels(labels, {}, (0.3, 0.2), 0), 16, folder / "out")
    return folder / "out"


def test_every_damage_to_a_prepared_folder_is_noticed(prepared: Path, tmp_path: Path) -> None:
    whole = retinopathy.load(retinopathy.Options(folder=str(prepared)))
    for seed in range(45):
        rng = np.random.default_rng(seed)
        folder = tmp_path / str(seed)
        shutil.copytree(prepared, folder)
        path = folder / (retinopathy.IMAGES, retinopathy.PHOTOGRAPHS, retinopathy.FACTS)[seed % 3]
        content = path.read_bytes()
        path.write_bytes(mutated(content, rng))
        if path.read_bytes() != content:
            answer = answer_of(READERS["prepared"], folder)
            assert is_one_safe_line(answer)
            if answer == READ:  # The same facts in other bytes: a space more in the JSON.
                damaged = retinopathy.load(retinopathy.Options(folder=str(folder)))
                assert path.name == retinopathy.FACTS
                assert (damaged.train.images == whole.train.images).all()
                assert damaged.mean.tolist() == whole.mean.tolist()


def test_a_folder_prepared_before_there_were_checksums_is_still_read(prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "old")
    path = tmp_path / "old" / retinopathy.FACTS
    facts = json.loads(path.read_text(encoding="utf-8"))
    old = {key: facts[key] for key in ("size", "splits", "mean", "std")} | {"version": 1}
    path.write_text(json.dumps(old), encoding="utf-8")
    before, after = (retinopathy.load(retinopathy.Options(folder=str(f))) for f in (prepared, tmp_path / "old"))
    assert (before.train.images == after.train.images).all()
    assert before.train.labels.tolist() == after.train.labels.tolist()


@pytest.mark.parametrize("file", ["state.npy", "images.npy", "plan.json"])
def test_a_damaged_preparation_is_not_resumed(file: str, prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "out")
    images, labels = photographs(tmp_path, patients=6)
    table = read_labels(labels, {}, (0.3, 0.2), 0)
    content = (tmp_path / "out" / file).read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"\0" + content[1:]):
        (tmp_path / "out" / file).write_bytes(damaged)
        refused(lambda: prepare(images, table, 16, tmp_path / "out"), "damaged|cannot be read")


def test_a_gzip_bomb_of_idx_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_idx_files(tmp_path)
    monkeypatch.setenv("ROBUSTNESS_LIMIT_ARRAY_BYTES", "100000")
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    fashion_mnist.load.cache_clear()
    refused(lambda: fashion_mnist.load(str(folder), checksums=False), "ROBUSTNESS_LIMIT_ARRAY_BYTES")
