"""Data of a task: images, labels, and the statistics that normalise the images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Split:
    """The images of one split with their labels and metadata."""

    images: NDArray[np.uint8]
    """[n, height, width, channels]; may be memory-mapped."""
    labels: NDArray[np.int64]
    """[n], class of each image."""
    patients: NDArray[np.int64]
    """[n], patient numbers: images of the same patient are not independent."""
    names: tuple[str, ...] | None = None
    """Name of each image, if known."""
    grades: NDArray[np.int64] | None = None
    """[n], the grade from which each label was derived, if any."""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class TaskData:
    """Splits of a task: for training, for judging configurations, and for the final models."""

    train: Split
    validation: Split
    test: Split
    mean: NDArray[np.float32]
    """[channels], mean of the training images, scaled to 0 to 1."""
    std: NDArray[np.float32]
    """[channels], standard deviation of the training images, scaled to 0 to 1; never 0."""
    classes: int = 2
    """2 for a binary task, whose positive class is label 1."""

    @property
    def image_size(self) -> int:
        """Shorter side of an image in pixels."""
        return int(min(self.train.images.shape[1:3]))

    @property
    def channels(self) -> int:
        return int(self.train.images.shape[3])


def channel_statistics(images: NDArray[np.uint8], block: int = 256) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation of each channel, scaled to 0 to 1, for images [n, height, width, channels].

    They are computed from exact counts of the 256 values, block by block, so they do not depend on the order of
    summation and a memory-mapped file is never loaded in full. A constant channel gets a standard deviation of 1.
    """
    channels = images.shape[3]
    counts: NDArray[np.int64] = np.zeros((channels, 256), dtype=np.int64)
    for start in range(0, len(images), block):
        part = np.asarray(images[start : start + block]).reshape(-1, channels)
        for channel in range(channels):
            counts[channel] += np.bincount(part[:, channel], minlength=256)
    values: NDArray[np.float64] = np.arange(256, dtype=np.float64) / 255
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    mean: NDArray[Any] = shares @ values
    variance: NDArray[Any] = (shares * (values - mean[:, None]) ** 2).sum(axis=1)
    std = np.sqrt(np.where(variance > 1e-10, variance, 1.0))
    return mean.astype(np.float32), std.astype(np.float32)
