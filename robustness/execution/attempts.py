"""One attempt at a trial in this process: its epochs, then its ending. The trial's own exceptions never escape."""

from __future__ import annotations

import math
import os
import socket
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from robustness.errors import Diverged, RobustnessError
from robustness.execution.protocol import Ending
from robustness.plugins import find_trainable
from robustness.trial import EpochResult, Trial

if TYPE_CHECKING:
    from robustness.trainables.trainable import Trainable

_OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "alloc_failed",
)
"""Substrings by which a `RuntimeError` from CUDA, cuBLAS or the CPU allocator is recognised as out of memory."""

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Ray sets this variable for trials with a share of a GPU and leaves it unchanged for trials without one."""


def attempt(trial: Trial, timeout: float | None = None) -> Iterator[EpochResult | Ending]:
    """Yield the epochs of one attempt at a trial, then its ending; the timeout is checked between epochs."""
    start = time.perf_counter()
    try:
        for result in find_trainable(trial.trainable)(trial):
            yield result
            if reason := _divergence(result, trial.metric):
                yield Ending("diverged", reason, time.perf_counter() - start)
                return
            if timeout is not None and time.perf_counter() - start > timeout:
                yield timed_out(timeout, time.perf_counter() - start)
                return
    except Exception as error:
        ending = _ending_of(error, time.perf_counter() - start)
        # The traceback would keep the failed trial's frames, and so its tensors, alive.
        error.__traceback__ = None
        yield ending
        return
    yield Ending("finished", seconds=time.perf_counter() - start)


def needs_torch(trial: Trial) -> bool:
    """Whether a worker imports torch before the trial's clock starts."""
    trainable = _known_trainable(trial)
    return trainable is not None and trainable.needs_torch


def loads_task(trial: Trial) -> bool:
    """Whether the trial loads a task whose arrays workers can share."""
    trainable = _known_trainable(trial)
    return trainable is not None and trainable.loads_task


def _known_trainable(trial: Trial) -> Trainable | None:
    """Return the trial's trainable, or None if it cannot be imported; the attempt then reports the error."""
    try:
        return find_trainable(trial.trainable)
    except Exception:
        return None


def timed_out(timeout: float, seconds: float) -> Ending:
    """Return the ending of an attempt that exceeded its timeout."""
    return Ending("timed_out", f"took longer than trial_timeout ({timeout:g} s)", seconds, replace_worker=True)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that a device or the machine ran out of memory; does not import torch."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _OUT_OF_MEMORY)


def _ending_of(error: Exception, seconds: float) -> Ending:
    if isinstance(error, Diverged):
        return Ending("diverged", str(error), seconds)
    text = "".join(traceback.format_exception(error))
    if is_out_of_memory(error):
        return Ending("out_of_memory", text, seconds, replace_worker=True)
    # The project's own errors, such as a missing data file, would only be raised again.
    unexpected = not isinstance(error, RobustnessError)
    return Ending("failed", text, seconds, retry=unexpected, replace_worker=unexpected)


def _divergence(result: EpochResult, metric: str) -> str | None:
    """Return why an epoch counts as diverged (a loss that is not finite, or a metric that is NaN), or None."""
    loss = result.measures.get("loss", 0.0)
    if not math.isfinite(loss):
        return f"the loss is {loss} in epoch {result.epoch}"
    if math.isnan(result.measures.get(metric, 0.0)):
        return f"{metric} is NaN in epoch {result.epoch}"
    return None


def use_threads(threads: int) -> int:
    """Set the number of torch threads if torch is loaded; return the previous number."""
    torch = sys.modules.get("torch")
    if torch is None:
        return threads
    before: int = torch.get_num_threads()
    if before != threads:
        torch.set_num_threads(threads)
    return before


@contextmanager
def only_given_gpus(share: float) -> Iterator[None]:
    """Hide all GPUs within the block if the trial's share of a GPU is 0."""
    before = os.environ.get(VISIBLE)
    if not share:
        os.environ[VISIBLE] = ""
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VISIBLE, None)
        else:
            os.environ[VISIBLE] = before


def has_gpu(share: float) -> bool:
    """Whether a trial with this share of a GPU can use one in this process."""
    torch = sys.modules.get("torch")
    return share > 0 and torch is not None and bool(torch.cuda.is_available())


def this_worker() -> str:
    """Return `host:process id` of this process."""
    return f"{socket.gethostname()}:{os.getpid()}"
