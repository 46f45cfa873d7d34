"""Batches of images on the training device: gathered, augmented, normalised."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor

from robustness.tasks import Split, TaskData
from robustness.trainables.classification.augmentation import augment
from robustness.trainables.classification.devices import to_device


@dataclass(frozen=True)
class Pictures:
    """One split of a task, ready to be divided into batches."""

    images: Tensor
    """uint8 [n, height, width, channels], where the task put them: in memory, shared, or memory-mapped."""
    labels: Tensor
    """int64 [n], on the device."""
    mean: Tensor
    std: Tensor
    """[channels, 1, 1], on the device."""

    @staticmethod
    def of(data: TaskData, split: Split, device: torch.device) -> Pictures:
        statistics = [torch.tensor(x, device=device).view(-1, 1, 1) for x in (data.mean, data.std)]
        return Pictures(_as_tensor(split), torch.tensor(split.labels, device=device), *statistics)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def device(self) -> torch.device:
        return self.labels.device

    def batch(self, index: Tensor | slice, augmentation: torch.Generator | None = None) -> Tensor:
        """Return the normalised images at `index`, float [batch, channels, height, width], channels last in memory."""
        chosen = to_device(self.images[index], self.device)
        pictures = chosen.permute(0, 3, 1, 2).float().div_(255)
        if augmentation is not None:
            pictures = augment(pictures, augmentation)
        return pictures.sub_(self.mean).div_(self.std)

    def batches(self, batch_size: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
        """Return the whole split in normalised batches, without augmentation."""
        return [self.batch(slice(start, start + batch_size)).to(dtype) for start in range(0, len(self), batch_size)]


def _as_tensor(split: Split) -> Tensor:
    """Return the images as a tensor on the same memory, without torch's warning about read-only shared arrays."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(split.images)
