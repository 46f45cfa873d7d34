"""The device that a trial trains on, and how tensors get there."""

from __future__ import annotations

import os

import torch
from torch import Tensor

from robustness.trainables.precision import Precision, has_bfloat16, refuse_emulation


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a CPU tensor to the device; to a GPU from pinned memory, without blocking the CPU."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def pick_device(name: str) -> torch.device:
    """Return the device of this name; `auto` is a GPU if this process can use one, else the CPU."""
    if name != "auto":
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def set_determinism(deterministic: bool) -> None:
    """Refuse operations whose results may differ between runs, or allow them."""
    if deterministic:
        # Without a fixed workspace cuBLAS is not deterministic, and torch refuses its matrix products.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(deterministic)


def forward_dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """Return what forward passes on a device compute in; raises if the device would emulate it."""
    gpu = device.type == "cuda"
    refuse_emulation(precision, gpu)
    bfloat16 = precision == "bfloat16" or (precision == "auto" and has_bfloat16(gpu))
    return torch.bfloat16 if bfloat16 else torch.float32
