"""Trials one after another in this process: for debugging, for tests, and for machines without Ray."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain
from types import FrameType

from robustness.execution.attempts import (
    Overdue,
    attempt,
    has_gpu,
    needs_torch,
    only_given_gpus,
    this_worker,
    timed_out,
    use_threads,
)
from robustness.execution.protocol import Ending, Observer, Started, Terms, may_retry, never
from robustness.trial import EpochResult, Trial

_GRACE = 0.25
"""Seconds after the timeout in which a trial can still end itself, with more to say about it."""


class InlineExecutor:
    """Runs every trial in this process, so `pdb` and `print` work."""

    def run(self, trials: Iterator[Trial], observer: Observer, terms: Terms, stop: Callable[[], bool] = never) -> None:
        first = next(trials, None)
        if first is None:
            return
        # Exclude existing objects from the collection after each trial, which could take longer than the trial itself.
        # The first trial comes before: with it, the plan of a large study has been indexed.
        gc.freeze()
        try:
            self._run_all(chain([first], trials), observer, terms, stop)
        finally:
            gc.unfreeze()

    def _run_all(self, trials: Iterator[Trial], observer: Observer, terms: Terms, stop: Callable[[], bool]) -> None:
        collection = _Collection()
        for trial in trials:
            share = terms.share(trial)
            if needs_torch(trial) or share.gpu:
                # Lazy: other trials run without torch. Loaded here so that its threads are set and its GPU is known.
                import torch  # noqa: F401
            previous_threads = use_threads(share.threads)
            device = "gpu" if has_gpu(share.gpu) else "cpu"
            try:
                with only_given_gpus(share.gpu), _noticing_ctrl_c() as interrupted:
                    ended = self._run(trial, observer, terms, stop, device, interrupted)
                if not ended:
                    return
            finally:
                use_threads(previous_threads)
                collection.after_trial()
            if stop():
                return

    starting = ""

    def check(self, study: str) -> None:
        """Do nothing: functions of this process are here."""

    def session(self, first: Trial, terms: Terms) -> AbstractContextManager[None]:  # noqa: ARG002
        return nullcontext()

    @staticmethod
    def _run(
        trial: Trial,
        observer: Observer,
        terms: Terms,
        stop: Callable[[], bool],
        device: str,
        interrupted: Callable[[], bool],
    ) -> bool:
        """Run a trial to its end; return False if it was abandoned because of `stop`."""
        for number in range(1, terms.max_attempts + 1):
            observer.started(trial.key, number, Started(this_worker(), device))
            start = time.perf_counter()
            ending: Ending | None = None
            events = _with_alarm(trial, terms.trial_timeout, interrupted)
            for event in events:
                if isinstance(event, EpochResult):
                    reason = observer.epoch(trial.key, event)
                    if reason is not None:
                        events.close()
                        ending = Ending("pruned", reason, time.perf_counter() - start)
                    elif stop():
                        events.close()
                        return False
                else:
                    ending = event
            if ending is None:
                return False
            if not may_retry(ending, number, terms):
                observer.ended(trial.key, ending)
                return True
        return True


class _Collection:
    """Garbage collection between trials that takes at most a small share of the time.

    The objects that a sweep keeps grow with its trials, so that a collection after each would take longer and longer.
    """

    LEAST_RATIO = 20.0

    def __init__(self) -> None:
        self.cost, self.ended = 0.0, time.perf_counter()

    def after_trial(self) -> None:
        """Collect, unless the last collection was too recent for how long it took."""
        start = time.perf_counter()
        if start - self.ended >= self.LEAST_RATIO * self.cost:
            gc.collect()
            self.ended = time.perf_counter()
            self.cost = self.ended - start


def _with_alarm(
    trial: Trial, timeout: float | None, interrupted: Callable[[], bool]
) -> Generator[EpochResult | Ending]:
    """Yield the attempt's events; end it when it is overdue, even inside an epoch if Python code can be interrupted."""
    if timeout is None or threading.current_thread() is not threading.main_thread():
        yield from attempt(trial, timeout, interrupted)
        return
    start = time.perf_counter()
    events = attempt(trial, timeout, interrupted)
    while True:
        try:
            with _alarm(timeout + _GRACE - (time.perf_counter() - start)):
                event = next(events)
        except StopIteration:
            return
        except Overdue:
            yield timed_out(timeout, time.perf_counter() - start)
            return
        yield event


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Overdue

    previous = signal.signal(signal.SIGALRM, ring)
    # It rings again, in case the trial's code catches everything.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def _noticing_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether SIGINT arrived within the block; its handler is called as before."""
    pressed: list[int] = []
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield never
        return

    def handle(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        previous(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, previous)
