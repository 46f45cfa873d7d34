from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.files import data_set

from robustness.errors import TaskError
from robustness.tasks import load_task


def arrays(channels: tuple[int, ...] = ()) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(0)
    content: dict[str, NDArray[Any]] = {}
    for name, count in (("train", 9), ("val", 4), ("test", 5)):
        content[f"{name}_images"] = rng.integers(0, 256, (count, 20, 24, *channels), dtype=np.uint8)
        content[f"{name}_labels"] = (np.arange(count, dtype=np.uint8) % 3)[:, None]
    return content


def saved(folder: Path, content: dict[str, NDArray[Any]]) -> str:
    np.savez(folder / "set.npz", **content)  # type: ignore[arg-type]
    return str(folder / "set.npz")


def test_grey_images_get_one_channel_and_classes_are_counted(tmp_path: Path) -> None:
    content = arrays()
    data = load_task({"name": "npz", "file": saved(tmp_path, content)})
    assert data.train.images.shape == (9, 20, 24, 1)
    np.testing.assert_array_equal(data.validation.images[..., 0], content["val_images"])
    np.testing.assert_array_equal(data.train.labels, content["train_labels"][:, 0])
    assert data.classes == 3
    assert len(np.unique(np.concatenate([data.train.patients, data.validation.patients, data.test.patients]))) == 18


def test_a_threshold_makes_the_task_binary(tmp_path: Path) -> None:
    data = load_task({"name": "npz", "file": saved(tmp_path, arrays((3,))), "positive_from": 2})
    assert data.classes == 2
    np.testing.assert_array_equal(data.test.labels, [0, 0, 1, 0, 0])
    assert data.channels == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"val_images": None}, "has no array 'val_images' (it has: train_images, "),
        ({"train_images": np.zeros((9, 20, 24), dtype=np.float32)}, "train_images is float32"),
        ({"test_labels": np.zeros((5, 14), dtype=np.uint8)}, "test_labels is uint8 of shape (5, 14)"),
        ({"test_labels": np.array([object()] * 5)}, "set.npz: "),
    ],
)
def test_a_malformed_file_is_a_one_line_error(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    content = {key: value for key, value in {**arrays(), **changes}.items() if value is not None}
    with pytest.raises(TaskError) as caught:
        load_task({"name": "npz", "file": saved(tmp_path, content)})
    assert message in str(caught.value)


def test_a_file_that_is_not_an_archive_is_a_one_line_error(tmp_path: Path) -> None:
    (tmp_path / "set.npz").write_text("not an archive")
    with pytest.raises(TaskError, match=r"set\.npz"):
        load_task({"name": "npz", "file": str(tmp_path / "set.npz")})


def test_a_published_medmnist_file_is_read() -> None:
    data = load_task({"name": "npz", "file": str(data_set("pneumoniamnist") / "pneumoniamnist.npz")})
    assert [len(split) for split in (data.train, data.validation, data.test)] == [4708, 524, 624]
    assert np.bincount(data.train.labels).tolist() == [1214, 3494]
    assert (data.image_size, data.channels, data.classes) == (28, 1, 2)
