"""One attempt at a trial in this process: its epochs, then how it ended; no exception of the trial leaves here."""

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
"""How CUDA, cuBLAS and the CPU allocator say in a `RuntimeError` that there is no memory left."""

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Ray sets it for trials with a share of a GPU, and leaves it alone for those without."""


def attempt(trial: Trial, timeout: float | None = None) -> Iterator[EpochResult | Ending]:
    """The epochs of one run of a trial and, last, its ending; between epochs the time is looked at."""
    start = time.perf_counter()
    try:
        for result in find_trainable(trial.trainable)(trial):
            yield result
            if trouble := _not_finite(result, trial.metric):
                yield Ending("diverged", trouble, time.perf_counter() - start)
                return
            if timeout is not None and time.perf_counter() - start > timeout:
                yield timed_out(timeout, time.perf_counter() - start)
                return
    except Exception as error:
        ending = _ending_of(error, time.perf_counter() - start)
        # The traceback holds the frames, and the frames the tensors, of the failed trial.
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
    """Return the trial's trainable; None for one that cannot be imported, which the attempt then reports."""
    try:
        return find_trainable(trial.trainable)
    except Exception:
        return None


def timed_out(timeout: float, seconds: float) -> Ending:
    """The ending of an attempt that took longer than it may."""
    return Ending("timed_out", f"took longer than trial_timeout, {timeout:g} s", seconds, renew=True)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that a device or the machine has no memory left, told without importing torch."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _OUT_OF_MEMORY)


def _ending_of(error: Exception, seconds: float) -> Ending:
    if isinstance(error, Diverged):
        return Ending("diverged", str(error), seconds)
    text = "".join(traceback.format_exception(error))
    if is_out_of_memory(error):
        return Ending("out_of_memory", text, seconds, renew=True)
    # What the project refuses on purpose, say a missing file of a task, would be refused again.
    refused = isinstance(error, RobustnessError)
    return Ending("failed", text, seconds, again=not refused, renew=not refused)


def _not_finite(result: EpochResult, metric: str) -> str | None:
    """Why an epoch shows a diverged trial: a loss that is not finite, or the study's own measure not a number."""
    loss = result.measures.get("loss", 0.0)
    if not math.isfinite(loss):
        return f"the loss is {loss} in epoch {result.epoch}"
    if math.isnan(result.measures.get(metric, 0.0)):
        return f"{metric} is not a number in epoch {result.epoch}"
    return None


def use_threads(threads: int) -> int:
    """Give torch this many threads if it is loaded; gives the number it had."""
    torch = sys.modules.get("torch")
    if torch is None:
        return threads
    before: int = torch.get_num_threads()
    if before != threads:
        torch.set_num_threads(threads)
    return before


@contextmanager
def only_given_gpus(share: float) -> Iterator[None]:
    """A block in which a trial that was given no GPU sees none, though the machine may have some."""
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
    """Whether a trial with this share of a GPU has one in this process."""
    torch = sys.modules.get("torch")
    return share > 0 and torch is not None and bool(torch.cuda.is_available())


def this_worker() -> str:
    """`host:process id` of this process."""
    return f"{socket.gethostname()}:{os.getpid()}"
