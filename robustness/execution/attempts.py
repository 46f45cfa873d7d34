"""One attempt at a trial in this process: its epochs, then its ending. The trial's own exceptions never escape."""

from __future__ import annotations

import math
import os
import socket
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from robustness.errors import Diverged, RobustnessError, TrialFailed
from robustness.execution.isolation import Isolation, seed_global_generators
from robustness.execution.protocol import Ending, never
from robustness.execution.results import BadResult, ResultChecker, described
from robustness.execution.wording import error_line, error_text, one_line, own_lines
from robustness.plugins import find_trainable
from robustness.trial import LARGEST, EpochResult, Trial, collecting

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

NUMERICAL_OVERFLOW = (OverflowError, FloatingPointError)
"""What Python, and numpy with `seterr(all="raise")`, raise where a tensor would have become infinite or NaN."""

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Ray sets this variable for trials with a share of a GPU and leaves it unchanged for trials without one."""


class Overdue(BaseException):
    """Raised in an attempt by a timer; not an `Exception`, so that a trial's `except Exception` does not catch it."""


def attempt(
    trial: Trial, timeout: float | None = None, interrupted: Callable[[], bool] = never
) -> Generator[EpochResult | Ending]:
    """Yield the epochs of one attempt at a trial, then its ending; the timeout is checked between epochs.

    What the trial changes in this process is undone whenever an event is yielded. A `KeyboardInterrupt` propagates if
    `interrupted()` says that the user pressed Ctrl-C; raised by the trial's own code, it fails the trial.
    """
    isolation = Isolation()
    training = _Training(trial, timeout, interrupted)
    try:
        while True:
            with isolation.of_trial(), collecting(_refuse_report, fallback=True):
                event = training.next()
            if isinstance(event, Ending):
                break
            yield event
    finally:
        with isolation.of_trial():
            training.close()
        threads_left = isolation.clean_up()
    yield replace(event, replace_worker=event.replace_worker or threads_left)


class _Training:
    """The trial's own code under way: each call of `next` runs it to its next epoch or its end."""

    def __init__(self, trial: Trial, timeout: float | None, interrupted: Callable[[], bool]) -> None:
        self._trial = trial
        self._timeout = timeout
        self._interrupted = interrupted
        self._start = time.perf_counter()
        self._checker = ResultChecker()
        self._measured: set[str] = set()
        """The names of all measures so far; those of pre-training do not count."""
        self._results: Iterator[Any] | None = None
        self._ending: Ending | None = None

    def next(self) -> EpochResult | Ending:
        """Return the next epoch or the ending."""
        if self._ending is None and self._results is not None and self._is_overdue():
            self._ending = timed_out(self._timeout or 0.0, self._seconds())
        if self._ending is not None:
            return self._ending
        try:
            return self._next()
        except Overdue:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and self._interrupted():
                raise
            self._ending = _ending_of(error, self._seconds())
            # The traceback would keep the failed trial's frames, and so its tensors, alive.
            error.__traceback__ = None
            return self._ending

    def _next(self) -> EpochResult | Ending:
        if self._results is None:
            self._results = _started(replace(self._trial, timeout=self._timeout))
        try:
            result = self._checker.check(next(self._results))
        except StopIteration:
            self._check_end()
            return Ending("finished", seconds=self._seconds())
        if not result.pretraining:
            self._measured.update(result.measures)
        if reason := _divergence(result, self._trial.metric):
            self._ending = Ending("diverged", reason, self._seconds())
        return result

    def _check_end(self) -> None:
        """Raise `BadResult` if the trial has ended without what its study judges it by."""
        metric = self._trial.metric
        if not self._checker.count:
            raise BadResult("the trainable yielded no epoch") from None
        if not metric or metric in self._measured or find_trainable(self._trial.trainable).may_lack_metric:
            return
        found = ", ".join(sorted(self._measured)[:8]) or "nothing"
        raise BadResult(
            f"the trainable never reported the study's metric, {metric!r}, after pre-training; it reported {found}"
        ) from None

    def close(self) -> None:
        """End the trial's code where it stands; what it raises then is ignored."""
        close = getattr(self._results, "close", None)
        try:
            if close is not None:
                close()
        except Overdue:
            raise
        except BaseException:
            if self._interrupted():
                raise
        finally:
            self._results = None

    def _is_overdue(self) -> bool:
        return self._timeout is not None and self._seconds() > self._timeout

    def _seconds(self) -> float:
        return time.perf_counter() - self._start


def _refuse_report(_result: EpochResult) -> None:
    raise RobustnessError(
        "trial.report is for functions that yield nothing and are passed to robustness.sweep; others yield EpochResults"
    )


def _started(trial: Trial) -> Iterator[Any]:
    """Call the trial's trainable; returns the iterator over its results."""
    train = find_trainable(trial.trainable)
    seed_global_generators(trial)
    returned: object = train(trial)
    if isinstance(returned, (str, bytes, EpochResult, dict)) or not hasattr(returned, "__iter__"):
        if hasattr(returned, "close"):
            returned.close()  # A coroutine that is never awaited would print a warning.
        raise BadResult(f"the trainable returned {described(returned)} instead of yielding EpochResults")
    return iter(returned)


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
    return isinstance(error, RuntimeError) and any(words in error_line(error).lower() for words in _OUT_OF_MEMORY)


def _ending_of(error: BaseException, seconds: float) -> Ending:
    if isinstance(error, Diverged):
        return Ending("diverged", error_line(error).removeprefix(f"{type(error).__name__}: "), seconds)
    if isinstance(error, NUMERICAL_OVERFLOW):
        return Ending("diverged", error_text(error), seconds)
    if isinstance(error, TrialFailed):
        return Ending(error.status, own_lines(str(error)), seconds, retry_if_asked=error.status == "failed")
    if isinstance(error, BadResult):
        return Ending("failed", one_line(str(error)), seconds)
    if is_out_of_memory(error):
        return Ending("out_of_memory", error_text(error), seconds, replace_worker=True)
    # The project's own errors, such as a missing data file, would only be raised again.
    unexpected = not isinstance(error, RobustnessError)
    return Ending("failed", _reason(error), seconds, retry=unexpected, replace_worker=unexpected)


def _reason(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        code = described(error.code) if error.code is not None else ""
        return f"{error_text(error)}\nthe trainable called sys.exit({code})"
    return error_text(error)


def _divergence(result: EpochResult, metric: str) -> str | None:
    """Return why an epoch counts as diverged (a loss or metric that is not finite), or None."""
    for name, shown in (("loss", "the loss"), (metric, metric)):
        value = result.measures.get(name, 0.0)
        if not math.isfinite(value):
            how = "NaN" if math.isnan(value) else f"infinite or beyond ±{LARGEST:g}"
            return f"{shown} is {how} in epoch {result.epoch}"
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
