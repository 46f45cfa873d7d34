"""Data files that tests write, and where to find real ones."""

from __future__ import annotations

import gzip
import os
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from robustness.tasks.fundus.synthetic import Options, load
from robustness.trial import Trial


def photographs(folder: Path, patients: int = 12, size: int = 48) -> tuple[Path, Path]:
    """A folder of `1_left.png`, `1_right.png`, ... and its table of labels."""
    images = folder / "photographs"
    images.mkdir(parents=True)
    data = load(Options(image_size=size, train=2 * patients, validation=2, test=0)).train
    assert data.grades is not None
    lines = ["image,level"]
    for number in range(2 * patients):
        name = f"{number // 2 + 1}_{'left' if number % 2 else 'right'}"
        wide = np.zeros((size, size + 20, 3), dtype=np.uint8)
        wide[:, 10:-10] = data.images[number]
        Image.fromarray(wide).save(images / f"{name}.png")
        lines.append(f"{name},{data.grades[number]}")
    labels = folder / "labels.csv"
    labels.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return images, labels


def zipped(images: Path) -> Path:
    """The same folder as an archive."""
    archive = images.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(images.iterdir()):
            file.write(path, f"inside/{path.name}")
    return archive


SIDE = 5
CLASSES = 10


def idx(array: np.ndarray) -> bytes:
    """An array of bytes as an idx file."""
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_idx_files(folder: Path, train: int = 40, test: int = 10, compressed: bool = True) -> Path:
    """Pictures of ten classes, each of which is bright at a place of its own; so many of each class."""
    generator = np.random.default_rng(0)
    for part, count in (("train", train), ("t10k", test)):
        labels = generator.permutation(np.repeat(np.arange(CLASSES, dtype=np.uint8), count))
        images = generator.integers(0, 60, (len(labels), SIDE * SIDE), dtype=np.uint8)
        for shift in (0, 1):
            images[np.arange(len(labels)), 2 * labels + shift] += 180
        for name, array in (
            (f"{part}-images-idx3-ubyte", images.reshape(-1, SIDE, SIDE)),
            (f"{part}-labels-idx1-ubyte", labels),
        ):
            if compressed:
                (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array), mtime=0))
            else:
                (folder / name).write_bytes(idx(array))
    return folder


def continual_trial(
    folder: Path,
    method: str = "radial",
    heads: int = 3,
    tasks: int = 3,
    hidden: Sequence[int] = (12, 12),
    training: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    **changes: Any,
) -> Trial:
    """A trial on the made-up pictures, with changes to its hyperparameters."""
    hyperparameters = {
        "optimizer": "amsgrad",
        "learning_rate": 1e-2,
        "epochs": 4,
        "batch_size": 24,
        "initial_rho": -4.0,
    }
    return Trial(
        study="continual",
        seed=5,
        configuration=2,
        arm=method,
        hyperparameters=hyperparameters | changes,
        method=method,
        method_options=options or {},
        task={"name": "split_fashion_mnist", "folder": str(folder), "checksums": False, "tasks": tasks},
        model={"name": "mlp", "hidden": list(hidden), "heads": heads},
        training={"evaluation_samples": 2} | (training or {}),
        metric="validation_accuracy",
        trainable="continual",
    )


def data_set(name: str) -> Path:
    """The folder of a data set; skips the test where there is none, or fails it if ROBUSTNESS_REQUIRE_DATA=1."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "data" / name
    if not folder.is_dir():
        if os.environ.get("ROBUSTNESS_REQUIRE_DATA") == "1":
            pytest.fail(f"the data set {name} is required and not there")
        pytest.skip(f"the data set {name} is not there")
    return folder
