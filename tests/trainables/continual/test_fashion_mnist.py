"""FashionMNIST's idx files: reading, checksums, and helpful errors for missing ones."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from support.files import CLASSES, SIDE, idx, write_idx_files

from robustness.errors import TaskError
from robustness.trainables.continual.fashion_mnist import CHECKSUMS, DEBIAN_FOLDER, find_files, load, read_idx
from robustness.trainables.continual.options import read_task
from robustness.trainables.continual.tasks import load_sequence
from robustness.trainables.continual.training import Learner
from robustness.trial import Trial


@pytest.fixture(name="published")
def _published() -> Path:
    """The folder of the real files; skips without them, or fails if ROBUSTNESS_REQUIRE_FASHION_MNIST=1."""
    try:
        find_files(None)
    except TaskError as error:
        if os.environ.get("ROBUSTNESS_REQUIRE_FASHION_MNIST") == "1":
            pytest.fail(str(error))
        pytest.skip("FashionMNIST is not installed")
    return DEBIAN_FOLDER


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4), (0, 3)])
def test_an_idx_file_returns_its_array(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(read_idx(idx(array)), array)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0",
        b"PK\x03\x04 a zip file",
        b"\0\0\x0d\x01\0\0\0\x01\0\0\0\0",
        idx(np.zeros(9, np.uint8))[:-1],
        b"\0\0\x08\x03\0\0",
    ],
)
def test_other_content_than_idx_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"idx|header"):
        read_idx(content)


@pytest.mark.parametrize("compressed", [True, False])
def test_files_are_read_compressed_or_not(tmp_path: Path, compressed: bool) -> None:
    train, test = load(str(write_idx_files(tmp_path, 4, 2, compressed)), checksums=False)
    assert train.images.shape == (4 * CLASSES, SIDE, SIDE)
    assert np.bincount(test.labels).tolist() == [2] * CLASSES


def test_missing_files_are_named_with_the_way_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(
        TaskError, match=r"train-images-idx3-ubyte.gz is not in .*apt-get install dataset-fashion-mnist"
    ) as caught:
        find_files(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_images_other_than_the_published_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"train-images-idx3-ubyte.gz is not FashionMNIST's .*its checksum differs"):
        load(str(write_idx_files(tmp_path)), checksums=True)


@pytest.mark.parametrize("damage", [b"", b"no gzip", b"cut"])
def test_a_damaged_file_gets_one_line(tmp_path: Path, damage: bytes) -> None:
    path = write_idx_files(tmp_path) / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:200] if damage == b"cut" else damage)
    with pytest.raises(TaskError, match="t10k-images-idx3-ubyte") as caught:
        load(str(tmp_path), checksums=False)
    assert "\n" not in str(caught.value)


def test_images_and_labels_must_match_in_number(tmp_path: Path) -> None:
    (write_idx_files(tmp_path, compressed=False) / "t10k-labels-idx1-ubyte").write_bytes(idx(np.zeros(3, np.uint8)))
    with pytest.raises(TaskError, match="t10k"):
        load(str(tmp_path), checksums=False)


PUBLISHED = {
    "train-images-idx3-ubyte": ("8d4fb7e6c68d591d4c3dfef9ec88bf0d", 1504176606),
    "train-labels-idx1-ubyte": ("25c81989df183df01b3e8a0aad5dffbe", 1504176606),
    "t10k-images-idx3-ubyte": ("bef4ecab320f06d8554ea6380940ec79", 1504176627),
    "t10k-labels-idx1-ubyte": ("bb300cfdad3c16e7a12a480ee83cd310", 1504176627),
}
"""The MD5 of each compressed file in FashionMNIST's README, and the timestamp in its gzip header."""


def test_the_checksums_are_those_of_the_published_files(published: Path) -> None:
    """Debian's files, with name and timestamp restored in their gzip headers, have the MD5 that the authors publish."""
    assert set(PUBLISHED) == set(CHECKSUMS)
    for name, (md5, time) in PUBLISHED.items():
        content = (published / f"{name}.gz").read_bytes()
        header = b"\x1f\x8b\x08\x08" + struct.pack("<I", time) + content[8:10] + name.encode() + b"\0"
        assert hashlib.md5(header + content[10:], usedforsecurity=False).hexdigest() == md5
    load(None, checksums=True)


def test_the_paper_s_split_has_54000_6000_and_10000_images(published: Path) -> None:
    sequence = load_sequence(read_task({"name": "split_fashion_mnist"}), shared_head=False)
    sizes = [(len(task.train), len(task.validation), len(task.test)) for task in sequence.tasks]
    assert sizes == [(10_800, 1_200, 2_000)] * 5
    # The commonly used mean and standard deviation of the whole training set, on the 0..1 scale.
    assert sequence.mean / 255 == pytest.approx(0.2860, abs=1e-3)
    assert sequence.std / 255 == pytest.approx(0.3530, abs=1e-3)


@pytest.mark.parametrize("method", ["mfvi", "radial"])
def test_an_epoch_tells_tops_from_trousers(published: Path, method: str) -> None:
    trial = Trial(
        study="tops",
        seed=0,
        configuration=0,
        arm=method,
        method=method,
        hyperparameters={
            "optimizer": "amsgrad",
            "learning_rate": 1e-3,
            "epochs": 1,
            "batch_size": 512,
            "initial_rho": -6,
        },
        task={"name": "split_fashion_mnist", "tasks": 1},
        model={"name": "mlp", "hidden": [50, 50], "heads": 1},
        training={"evaluation_samples": 2},
    )
    learner = Learner.start(trial)
    assert learner.next_epoch().measures["test_accuracy_task_1"] > 0.93
