"""Images in one `.npz` file in MedMNIST format: `train_images`, `train_labels`, and likewise for `val` and `test`."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from robustness.errors import TaskError
from robustness.tasks.data import Split, TaskData, channel_statistics


class Options(BaseModel):
    """Options of the task `npz`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(min_length=1)
    """Path; images are uint8 [n, height, width] or [n, height, width, channels], labels integers [n] or [n, 1]."""
    positive_from: int | None = Field(None, ge=1)
    """Lowest label that counts as positive, which makes the task binary; None keeps the classes."""


def check(options: Options) -> None:
    """Raise `TaskError` unless the file exists."""
    if not Path(options.file).is_file():
        raise TaskError(f"task.file: {options.file!r} does not exist")


def load(options: Options) -> TaskData:
    """Read the file; each image counts as a separate patient, since the format does not record patients."""
    check(options)
    try:
        with np.load(options.file, allow_pickle=False) as arrays:
            train = _split(arrays, "train", 0)
            validation = _split(arrays, "val", len(train))
            test = _split(arrays, "test", len(train) + len(validation))
    except (OSError, ValueError, KeyError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        # str() of a KeyError puts the message in quotes.
        reason = error.args[0] if isinstance(error, KeyError) else error
        raise TaskError(f"task 'npz': {options.file}: {reason}") from error
    if options.positive_from is not None:
        train, validation, test = (_binary(split, options.positive_from) for split in (train, validation, test))
    classes = max(2, 1 + max(int(split.labels.max(initial=0)) for split in (train, validation, test)))
    mean, std = channel_statistics(train.images)
    return TaskData(train, validation, test, mean, std, classes)


def _split(arrays: np.lib.npyio.NpzFile, name: str, first_patient: int) -> Split:
    for key in (f"{name}_images", f"{name}_labels"):
        if key not in arrays:
            raise KeyError(f"has no array {key!r} (it has: {', '.join(arrays.files)})")
    images: NDArray[np.uint8] = arrays[f"{name}_images"]
    labels = arrays[f"{name}_labels"]
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise ValueError(
            f"{name}_images is {images.dtype} of shape {images.shape}, "
            "but must be uint8 [n, height, width] or [n, height, width, channels]"
        )
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != images.shape[:1] or not np.issubdtype(labels.dtype, np.integer) or (labels < 0).any():
        raise ValueError(
            f"{name}_labels is {labels.dtype} of shape {labels.shape}, "
            f"but must be {len(images)} integers >= 0, one class per image"
        )
    return Split(
        images=images[..., None] if images.ndim == 3 else images,
        labels=labels.astype(np.int64),
        patients=first_patient + np.arange(len(labels), dtype=np.int64),
    )


def _binary(split: Split, positive_from: int) -> Split:
    return Split(split.images, (split.labels >= positive_from).astype(np.int64), split.patients, grades=split.labels)
