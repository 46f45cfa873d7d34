"""Fundus photographs drawn by code: nothing to download, the same for the same seed.

Each eye has a grade of diabetic retinopathy from 0 to 4, with which the number of its lesions grows; the question is
whether the grade is at least 2. Two eyes belong to a patient and mostly have the same grade.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from robustness.tasks.data import Split, TaskData, channel_statistics
from robustness.tasks.fundus.drawing import CHUNK, Features, Spots, draw_features, draw_pictures

GRADES = (0.48, 0.16, 0.20, 0.10, 0.06)
"""How frequent the grades 0 to 4 are."""
SAME_GRADE = 0.7
"""The share of patients whose second eye takes its grade from the first."""
MOST_PIXELS_AT_ONCE = 2**20


class Options(BaseModel):
    """What can be set of the task `synthetic_fundus`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    image_size: int = Field(32, ge=16, le=1024)
    """The side of the square pictures in pixels."""
    train: int = Field(1200, ge=2)
    """How many training pictures; a smaller set is the beginning of a larger one."""
    validation: int = Field(400, ge=2)
    """How many validation pictures."""
    test: int = Field(400, ge=0)
    """How many test pictures."""
    seed: int = Field(0, ge=0)
    """Which pictures are drawn; apart from the study's seed, so that studies can share their data."""
    positive_from: int = Field(2, ge=1, le=4)
    """The least grade that counts as positive."""
    poor_quality: float = Field(0.15, ge=0, le=1)
    """The share of pictures that are blurred, dark or have an artefact."""


def image_size(options: Options) -> int:
    """The side of a picture in pixels."""
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
        images[start:stop] = _pictures(features, stop - start, options.image_size, rng)
    return Split(
        images=images,
        labels=(grades >= options.positive_from).astype(np.int64),
        patients=first_patient + np.arange(count, dtype=np.int64) // 2,
        grades=grades,
    )


def _grades(rng: np.random.Generator) -> NDArray[np.int64]:
    """The grades of `CHUNK` eyes, two of a patient after each other."""
    grades = rng.choice(len(GRADES), size=(CHUNK // 2, 2), p=GRADES)
    same = rng.random(CHUNK // 2) < SAME_GRADE
    grades[same, 1] = grades[same, 0]
    return grades.reshape(-1).astype(np.int64)


def _pictures(features: Features, count: int, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """The first `count` pictures of a chunk, drawn in blocks that stay small in memory at any size."""
    block = max(1, MOST_PIXELS_AT_ONCE // size**2)
    parts = []
    for start in range(0, count, block):
        rows = slice(start, min(start + block, count))
        noise = rng.standard_normal((rows.stop - rows.start, size, size, 3), dtype=np.float32)
        parts.append(draw_pictures(_rows(features, rows), size, noise))
    return np.concatenate(parts)


def _rows(features: Features, rows: slice) -> Features:
    cut: list[Any] = [
        Spots(*(part[rows] for part in field)) if isinstance(field, Spots) else field[rows] for field in features
    ]
    return Features(*cut)
