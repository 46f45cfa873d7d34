"""Trials one after another in this process: for debugging, for tests, and for machines without Ray."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType

from robustness.execution.attempts import (
    attempt,
    has_gpu,
    needs_torch,
    only_given_gpus,
    this_worker,
    timed_out,
    use_threads,
)
from robustness.execution.protocol import Ending, Observer, Started, Terms, never
from robustness.trial import EpochResult, Trial


class InlineExecutor:
    """Runs every trial in this very process, so `pdb` and print work."""

    def run(self, trials: Iterator[Trial], observer: Observer, terms: Terms, stop: Callable[[], bool] = never) -> None:
        # What is there before the first trial is not looked through again after each, which could take longer than it.
        gc.freeze()
        try:
            self._run_all(trials, observer, terms, stop)
        finally:
            gc.unfreeze()

    def _run_all(self, trials: Iterator[Trial], observer: Observer, terms: Terms, stop: Callable[[], bool]) -> None:
        for trial in trials:
            share = terms.share(trial)
            if needs_torch(trial) or share.gpu:
                import torch  # noqa: F401  so that its threads are set before the trial, and its GPU is known
            before = use_threads(share.threads)
            device = "gpu" if has_gpu(share.gpu) else "cpu"
            try:
                with only_given_gpus(share.gpu):
                    ended = self._run(trial, observer, terms, stop, device)
                if not ended:
                    return
            finally:
                use_threads(before)
                gc.collect()
            if stop():
                return

    def session(self, first: Trial, terms: Terms) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    @staticmethod
    def _run(trial: Trial, observer: Observer, terms: Terms, stop: Callable[[], bool], device: str) -> bool:
        """Run a trial to its end; False if it was given up because of `stop`."""
        for number in range(1, terms.max_attempts + 1):
            observer.started(trial.key, number, Started(this_worker(), device))
            begun = time.perf_counter()
            ending: Ending | None = None
            events = _with_alarm(trial, terms.trial_timeout)
            for event in events:
                if isinstance(event, EpochResult):
                    reason = observer.epoch(trial.key, event)
                    if reason is not None:
                        events.close()
                        ending = Ending("pruned", reason, time.perf_counter() - begun)
                    elif stop():
                        return False
                else:
                    ending = event
            if ending is None:
                return False
            if not ending.again or number == terms.max_attempts:
                observer.ended(trial.key, ending)
                return True
        return True


class _Overdue(BaseException):
    """Raised by the alarm; not an `Exception`, so that a trial cannot take it for one of its own."""


def _with_alarm(trial: Trial, timeout: float | None) -> Generator[EpochResult | Ending]:
    """The attempt, ended even inside an epoch when it is overdue, as far as Python code can be interrupted."""
    if timeout is None or threading.current_thread() is not threading.main_thread():
        yield from attempt(trial, timeout)
        return
    start = time.perf_counter()
    events = attempt(trial, timeout)
    while True:
        try:
            with _alarm(timeout - (time.perf_counter() - start)):
                event = next(events)
        except StopIteration:
            return
        except _Overdue:
            yield timed_out(timeout, time.perf_counter() - start)
            return
        yield event


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise _Overdue

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
