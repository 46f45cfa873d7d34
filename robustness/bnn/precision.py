"""The precision of a forward pass."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch


def forward_precision(device: torch.device, mixed: bool) -> AbstractContextManager[object]:
    """Return a context in which convolutions and linear layers compute in bfloat16 if `mixed`, else in float32.

    bfloat16 has the range of float32, so gradients need no scaling; weights, their draws and the KL stay float32.
    """
    return torch.autocast(device.type, dtype=torch.bfloat16) if mixed else nullcontext()
