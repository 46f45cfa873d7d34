"""`gpu: auto`: the share of a GPU that a trial needs, from an estimate of its memory."""

from __future__ import annotations

import sys
from typing import Any

from robustness.plugins import find_trainable
from robustness.trial import Trial

MOST_SHARES = 8
"""More trials than this do not share a GPU: each has a CUDA context of its own, of about half a GB."""
CONTEXT = 0.6e9
"""Bytes that CUDA and torch take before the first tensor."""
USUAL_MEMORY = 16e9
"""Bytes of a GPU that this process cannot ask, because it is in another machine of the cluster."""
SPARE = 1.3
"""How much more than the estimate a trial is given, since an estimate that is short ends it."""


def estimated_share(trial: Trial) -> float:
    """The part 1/k of a GPU that holds the trial; 0 where there is no GPU, and 1 for a trial whose need is unknown."""
    memory = _gpu_memory()
    if memory is None:
        return 0.0
    needed = find_trainable(trial.trainable).gpu_memory
    return 1.0 if needed is None else share_of(SPARE * (CONTEXT + needed(trial)), memory)


def share_of(needed: float, memory: float) -> float:
    """The smallest part 1/k of a GPU's memory that is enough; a whole GPU for a trial that no part holds."""
    parts = int(memory // max(needed, 1.0))
    return 1.0 / min(max(parts, 1), MOST_SHARES)


def _gpu_memory() -> float | None:
    """Bytes of a GPU here; of a usual one if only the cluster has any; None if there is none."""
    import torch

    if torch.cuda.is_available():
        return float(torch.cuda.get_device_properties(0).total_memory)
    ray: Any = sys.modules.get("ray")
    if ray is not None and ray.is_initialized() and ray.cluster_resources().get("GPU", 0) > 0:
        return USUAL_MEMORY
    return None
