"""`gpu: auto`: the share of a GPU that a trial needs, from an estimate of its memory."""

from __future__ import annotations

import sys
from typing import Any

from robustness.plugins import find_trainable
from robustness.trial import Trial

MOST_SHARES = 8
"""Maximum number of trials that share one GPU: each has its own CUDA context of about half a GB."""
CONTEXT = 0.6e9
"""Bytes that CUDA and torch use before the first tensor."""
USUAL_MEMORY = 16e9
"""Assumed bytes of a GPU on another machine of the cluster, which this process cannot query."""
SPARE = 1.3
"""Safety factor on the estimate: a trial whose estimate is too low runs out of memory."""


def estimated_share(trial: Trial) -> float:
    """Return the share 1/k of a GPU that the trial fits in; 0 without a GPU, 1 if the trial's need is unknown."""
    memory = _gpu_memory()
    if memory is None:
        return 0.0
    needed = find_trainable(trial.trainable).gpu_memory
    return 1.0 if needed is None else share_of(SPARE * (CONTEXT + needed(trial)), memory)


def share_of(needed: float, memory: float) -> float:
    """Return the smallest sufficient share 1/k of a GPU's memory; 1 for a trial that needs more than half."""
    parts = int(memory // max(needed, 1.0))
    return 1.0 / min(max(parts, 1), MOST_SHARES)


def _gpu_memory() -> float | None:
    """Return the bytes of a local GPU, `USUAL_MEMORY` if only the cluster has GPUs, or None without any."""
    # Only `gpu: auto` needs torch in the driver.
    import torch

    if torch.cuda.is_available():
        return float(torch.cuda.get_device_properties(0).total_memory)
    ray: Any = sys.modules.get("ray")
    if ray is not None and ray.is_initialized() and ray.cluster_resources().get("GPU", 0) > 0:
        return USUAL_MEMORY
    return None
