"""Candidates measured side by side: in turn, many times, by medians, so that a noisy machine does not decide."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def medians(
    candidates: Mapping[str, Callable[[], object]], seconds: float = 6.0, warm: int = 3, most: int = 200
) -> dict[str, float]:
    """The median CPU seconds of a call to each candidate, called in turn for about `seconds` in all.

    CPU seconds of this process, which should have one thread: what other processes do lengthens the wait, not the work.
    """
    for _ in range(warm):
        for call in candidates.values():
            call()
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    begun = time.perf_counter()
    rounds = 0
    while rounds < 5 or (time.perf_counter() - begun < seconds and rounds < most):
        for name, call in candidates.items():
            start = time.process_time()
            call()
            taken[name].append(time.process_time() - start)
        rounds += 1
    return {name: statistics.median(times) for name, times in taken.items()}
