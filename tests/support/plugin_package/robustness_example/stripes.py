"""A task: pictures with horizontal or vertical stripes."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from robustness import Split, TaskData


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    pictures: int = Field(default=40, ge=4)
    """Pictures in each split."""


def image_size(options: Options) -> int:
    return 16


def load(options: Options) -> TaskData:
    train, validation, test = (split(options.pictures, number) for number in range(3))
    mean = np.full(3, 0.5, dtype=np.float32)
    return TaskData(train, validation, test, mean=mean, std=mean)


def split(count: int, number: int) -> Split:
    rng = np.random.default_rng(number)
    labels = np.arange(count) % 2
    waves = 60 * np.sin(np.arange(16) * 1.5)
    pictures = np.where(labels[:, None, None] == 1, waves[None, :, None], waves[None, None, :])
    noisy = 128 + pictures + rng.normal(0, 40, (count, 16, 16))
    images = np.repeat(noisy.clip(0, 255).astype(np.uint8)[..., None], 3, axis=3)
    return Split(images, labels, np.arange(count) + 1000 * number)
