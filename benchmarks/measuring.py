"""Time alternatives in turn, many times, and take medians, so that noise on the machine matters little."""

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
    """Median seconds per call of each candidate, called in turn for about `seconds` and at least `least` times.

    On a CPU these are CPU seconds of this process, which should be single-threaded, so other processes hardly affect
    them. On a GPU they are wall-clock seconds until the work has completed.
    """
    clock = time.process_time if device == "cpu" else _gpu_clock
    for _ in range(warm):
        for call in candidates.values():
            call()
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    started = time.perf_counter()
    rounds = 0
    while rounds < least or (time.perf_counter() - started < seconds and rounds < most):
        for name, call in candidates.items():
            start = clock()
            call()
            taken[name].append(clock() - start)
        rounds += 1
    return {name: statistics.median(times) for name, times in taken.items()}


def _gpu_clock() -> float:
    import torch  # here, because benchmarks on a CPU may not need torch

    torch.cuda.synchronize()
    return time.perf_counter()
