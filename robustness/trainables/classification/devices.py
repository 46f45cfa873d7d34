"""The device that trains: copies to it that wait for nothing, and the precision of the forward pass on it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """A tensor of the CPU on the device; to a GPU it goes from page-locked memory, and the CPU does not wait for it."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def forward_precision(device: torch.device, mixed: bool) -> AbstractContextManager[object]:
    """A block in which convolutions and linear layers compute in bfloat16 if `mixed`, and as ever if not.

    bfloat16 has the range of float32, so gradients need no scaling; weights, their draws and the KL stay float32.
    """
    return torch.autocast(device.type, dtype=torch.bfloat16) if mixed else nullcontext()
