"""Images in one `.npz` file in MedMNIST format: `train_images`, `train_labels`, and likewise for `val` and `test`."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from robustness.errors import TaskError, shown_key
from robustness.guards import limits
from robustness.guards.archives import open_archive
from robustness.tasks.data import Split, TaskData, channel_statistics

NEEDED = tuple(f"{split}_{kind}" for split in ("train", "val", "test") for kind in ("images", "labels"))
MOST_CHANNELS = 64


class Options(BaseModel):
    """Options of the task `npz`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(min_length=1)
    """Path; images are uint8 [n, height, width] or [n, height, width, channels], labels integers [n] or [n, 1]."""
    positive_from: int | None = Field(default=None, ge=1)
    """Lowest label that counts as positive, which makes the task binary; None keeps the classes."""


def check(options: Options) -> None:
    """Raise `TaskError` unless the file exists."""
    if not limits.is_file(Path(options.file)):
        raise TaskError(f"task.file: {options.file!r} does not exist")


def load(options: Options) -> TaskData:
    """Read the file; each image counts as a separate patient, since the format does not record patients."""
    check(options)
    try:
        with open_archive(Path(options.file), "array_bytes", TaskError) as archive:
            arrays = read_arrays(archive, options.file)
        train = _split(arrays, "train", 0)
        validation = _split(arrays, "val", len(train))
        test = _split(arrays, "test", len(train) + len(validation))
    except TaskError as error:
        raise TaskError(f"task 'npz': {error}") from None
    except Exception as error:  # zipfile and numpy raise almost anything for a damaged file.
        raise TaskError(f"task 'npz': {options.file}: {error}") from error
    if options.positive_from is not None:
        train, validation, test = (_binary(split, options.positive_from) for split in (train, validation, test))
    classes = max(2, 1 + max(int(split.labels.max(initial=0)) for split in (train, validation, test)))
    limits.check("classes", classes, f"task 'npz': {options.file}", TaskError)
    mean, std = channel_statistics(train.images)
    return TaskData(train, validation, test, mean, std, classes)


def read_arrays(archive: zipfile.ZipFile, source: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of the three splits that an archive has; their sizes are checked before any is read.

    Raises `TaskError` if one holds objects, is not as long as its header says, or if all exceed the limit together.
    """
    present = {name.removesuffix(".npy"): name for name in archive.namelist()}
    arrays: dict[str, NDArray[Any]] = {}
    total = 0
    for key in NEEDED:
        if key not in present:
            raise TaskError(f"{source}: has no array {key!r} (it has: {', '.join(map(shown_key, list(present)[:20]))})")
        entry = archive.getinfo(present[key])
        total += entry.file_size
        limits.check("array_bytes", total, source, TaskError)
        with archive.open(entry) as file:
            shape, order, dtype = _read_header(file)
            count = math.prod(shape)
            if dtype.hasobject or file.tell() + count * dtype.itemsize != entry.file_size:
                raise TaskError(f"{source}: {key} does not have the size in its header, or holds objects")
            content = file.read(entry.file_size + 1)
        arrays[key] = np.frombuffer(content, dtype=dtype, count=count).reshape(shape, order="F" if order else "C")
    return arrays


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, whether the order is Fortran's, and the type in the header of a .npy file."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"a .npy file of version {version}")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    return shape, fortran, dtype


def _split(arrays: Mapping[str, NDArray[Any]], name: str, first_patient: int) -> Split:
    images: NDArray[np.uint8] = arrays[f"{name}_images"]
    labels = arrays[f"{name}_labels"]
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise ValueError(
            f"{name}_images is {images.dtype} of shape {images.shape}, "
            "but must be uint8 [n, height, width] or [n, height, width, channels]"
        )
    if 0 in images.shape[1:] or images.shape[3:] > (MOST_CHANNELS,) or (name != "test" and len(images) == 0):
        raise ValueError(f"{name}_images has shape {images.shape}: no pixels, or more than {MOST_CHANNELS} channels")
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
