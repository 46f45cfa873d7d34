"""Made-up pictures in FashionMNIST's four idx files, and trials that learn them in a moment."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robustness.trial import Trial

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
        trainable="robustness.continual:train",
    )
