"""Candidates measured side by side: in turn, many times, by medians, so that a noisy machine does not decide."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def medians(
    candidates: Mapping[str, Callable[[], object]],
    seconds: float = 6.0,
    warm: int = 3,
    least: int = 9,
    most: int = 200,
    device: str = "cpu",
) -> dict[str, float]:
    """The median seconds of a call to each candidate, called in turn for about `seconds`, and at least so many times.

    On a CPU these are CPU seconds of this process, which should have one thread: what other processes do lengthens the
    wait, not the work. On a GPU they are wall seconds to the end of the work that was started.
    """
    clock = time.process_time if device == "cpu" else _gpu_clock
    for _ in range(warm):
        for call in candidates.values():
            call()
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    begun = time.perf_counter()
    rounds = 0
    while rounds < least or (time.perf_counter() - begun < seconds and rounds < most):
        for name, call in candidates.items():
            start = clock()
            call()
            taken[name].append(clock() - start)
        rounds += 1
    return {name: statistics.median(times) for name, times in taken.items()}


def _gpu_clock() -> float:
    import torch

    torch.cuda.synchronize()
    return time.perf_counter()
