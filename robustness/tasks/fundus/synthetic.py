"""Synthetic fundus photographs: nothing to download, and the same images for the same seed.

Each eye has a grade of diabetic retinopathy from 0 to 4, which increases the number of lesions; the task is to tell
whether the grade is at least 2. Each patient has two eyes, mostly with the same grade.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from robustness.tasks.data import Split, TaskData, channel_statistics
from robustness.tasks.fundus.drawing import CHUNK, Features, Spots, draw_features, draw_images

GRADES = (0.48, 0.16, 0.20, 0.10, 0.06)
"""Frequencies of the grades 0 to 4."""
SAME_GRADE = 0.7
"""Share of patients whose second eye copies the grade of the first."""
BLOCK_PIXELS = 2**20
"""Maximum number of pixels drawn at a time, which bounds memory."""


class Options(BaseModel):
    """Options of the task `synthetic_fundus`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    image_size: int = Field(default=32, ge=16, le=1024)
    """Side of the square images in pixels."""
    train: int = Field(default=1200, ge=2)
    """Number of training images; a smaller set is a prefix of a larger one."""
    validation: int = Field(default=400, ge=2)
    """Number of validation images."""
    test: int = Field(default=400, ge=0)
    """Number of test images."""
    seed: int = Field(default=0, ge=0)
    """Seed of the images, separate from the study's seed so that studies can share data."""
    positive_from: int = Field(default=2, ge=1, le=4)
    """Lowest grade that counts as positive."""
    poor_quality: float = Field(default=0.15, ge=0, le=1)
    """Share of images that are blurred, dark or have an artefact."""


def image_size(options: Options) -> int:
    """Side of an image in pixels."""
    return options.image_size


def load(options: Options) -> TaskData:
    """Draw the three splits."""
    train = _split(options, 0, options.train, first_patient=0)
    validation = _split(options, 1, options.validation, first_patient=len(train))
    test = _split(options, 2, options.test, first_patient=len(train) + len(validation))
    mean, std = channel_statistics(train.images)
    return TaskData(train, validation, test, mean, std)


def _split(options: Options, number: int, count: int, first_patient: int) -> Split:
    images: NDArray[np.uint8] = np.empty((count, options.image_size, options.image_size, 3), dtype=np.uint8)
    grades: NDArray[np.int64] = np.empty(count, dtype=np.int64)
    for start in range(0, count, CHUNK):
        rng = np.random.default_rng([options.seed, number, start // CHUNK])
        drawn = _grades(rng)
        features = draw_features(drawn, options.image_size, options.poor_quality, rng)
        stop = min(start + CHUNK, count)
        grades[start:stop] = drawn[: stop - start]
        images[start:stop] = _images(features, stop - start, options.image_size, rng)
    return Split(
        images=images,
        labels=(grades >= options.positive_from).astype(np.int64),
        patients=first_patient + np.arange(count, dtype=np.int64) // 2,
        grades=grades,
    )


def _grades(rng: np.random.Generator) -> NDArray[np.int64]:
    """Grades of `CHUNK` eyes; the two eyes of a patient are adjacent."""
    grades = rng.choice(len(GRADES), size=(CHUNK // 2, 2), p=GRADES)
    same = rng.random(CHUNK // 2) < SAME_GRADE
    grades[same, 1] = grades[same, 0]
    return grades.reshape(-1).astype(np.int64)


def _images(features: Features, count: int, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw the first `count` images of a chunk, in blocks that fit in memory at any size."""
    block = max(1, BLOCK_PIXELS // size**2)
    parts = []
    for start in range(0, count, block):
        rows = slice(start, min(start + block, count))
        noise = rng.standard_normal((rows.stop - rows.start, size, size, 3), dtype=np.float32)
        parts.append(draw_images(_rows(features, rows), size, noise))
    return np.concatenate(parts)


def _rows(features: Features, rows: slice) -> Features:
    selected: list[Any] = [
        Spots(*(part[rows] for part in field)) if isinstance(field, Spots) else field[rows] for field in features
    ]
    return Features(*selected)
