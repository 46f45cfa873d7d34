"""The sequence of tasks to learn: two classes each, in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from robustness.errors import TaskError
from robustness.trainables.continual.fashion_mnist import Pictures, load
from robustness.trainables.continual.options import TaskOptions

CLASSES_PER_TASK = 2


@dataclass(frozen=True)
class Examples:
    """Images as vectors on the 0..255 scale, and their labels."""

    images: Tensor
    """uint8 [n, pixels]."""
    labels: Tensor
    """int64 [n]: 0 and 1 if each task has its own head, else the class."""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class LearningTask:
    """One task of the sequence."""

    train: Examples
    validation: Examples
    test: Examples


@dataclass(frozen=True)
class Sequence:
    """All tasks, with the mean and standard deviation of the training pixels on the 0..255 scale."""

    tasks: tuple[LearningTask, ...]
    mean: float
    std: float

    @property
    def features(self) -> int:
        return self.tasks[0].train.images.shape[1]

    def inputs(self, images: Tensor, device: torch.device) -> Tensor:
        """Return images [n, pixels] as normalised floats: (pixel - mean) / standard deviation."""
        return images.to(device).float().sub_(self.mean).div_(self.std)


def load_sequence(options: TaskOptions, shared_head: bool) -> Sequence:
    """Return the tasks of a study; as in the paper, the statistics are over the training images of all tasks."""
    train, test = load(options.folder, options.checksums)
    tasks = []
    for number in range(options.tasks):
        first = 0 if shared_head else CLASSES_PER_TASK * number
        classes = range(CLASSES_PER_TASK * number, CLASSES_PER_TASK * (number + 1))
        learned, held_out = _held_out(train.labels, classes, options.validation_share)
        tested = np.flatnonzero(np.isin(test.labels, classes))
        parts = (_examples(train, learned, first), _examples(train, held_out, first), _examples(test, tested, first))
        if not all(map(len, parts)):
            raise TaskError(f"task.folder: there are too few images of the classes {list(classes)}")
        tasks.append(LearningTask(*parts))
    mean, std = _statistics(torch.cat([task.train.images for task in tasks]))
    return Sequence(tuple(tasks), mean, std)


def _held_out(labels: NDArray[np.uint8], classes: range, share: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of these classes' training images and of the held-out ones, the last of each class."""
    learned, held_out = [], []
    for label in classes:
        places = np.flatnonzero(labels == label)
        kept = len(places) - round(share * len(places))
        learned.append(places[:kept])
        held_out.append(places[kept:])
    return np.sort(np.concatenate(learned)), np.sort(np.concatenate(held_out))


def _examples(pictures: Pictures, places: NDArray[np.intp], first: int) -> Examples:
    images = torch.from_numpy(pictures.images.reshape(len(pictures.images), -1)[places])
    return Examples(images, torch.from_numpy(pictures.labels[places].astype(np.int64) - first))


def _statistics(images: Tensor) -> tuple[float, float]:
    """Return the exact mean and standard deviation of all pixels, from the counts of each value."""
    counts = torch.bincount(images.flatten(), minlength=256).double()
    values = torch.arange(256, dtype=torch.float64)
    mean = float((counts * values).sum() / counts.sum())
    variance = float((counts * (values - mean).square()).sum() / counts.sum())
    return mean, variance**0.5 or 1.0
