"""What a task gives: pictures, labels and the statistics to normalise them by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Split:
    """The pictures of one part of the data with what is known of each."""

    images: NDArray[np.uint8]
    """[n, height, width, channels]; may be mapped from a file."""
    labels: NDArray[np.int64]
    """[n], the class of each picture."""
    patients: NDArray[np.int64]
    """[n], group numbers: pictures of one patient are not independent of each other."""
    names: tuple[str, ...] | None = None
    """What each picture is called, where it has a name."""
    grades: NDArray[np.int64] | None = None
    """[n], the grade behind a label, where the label was made from one."""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class TaskData:
    """A task's data: what is trained on, what judges a configuration, and what judges the final model."""

    train: Split
    validation: Split
    test: Split
    mean: NDArray[np.float32]
    """[channels], of the training pictures on the scale 0 to 1."""
    std: NDArray[np.float32]
    """[channels], of the training pictures on the scale 0 to 1; never 0."""
    classes: int = 2
    """2 for a yes-or-no question, whose "yes" is label 1."""

    @property
    def image_size(self) -> int:
        """The smaller side of a picture in pixels."""
        return int(min(self.train.images.shape[1:3]))

    @property
    def channels(self) -> int:
        return int(self.train.images.shape[3])


def channel_statistics(images: NDArray[np.uint8], block: int = 256) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The mean and standard deviation of each channel on the scale 0 to 1, for images [n, height, width, channels].

    They come from exact counts of the 256 values, read block by block, so they depend on no order of summation and
    a mapped file is never held in memory as a whole. A constant channel gets the standard deviation 1.
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
