"""The protocol of executors, which run the trials of a plan on this machine or on a cluster.

`inline.py` runs trials one after another in this process, so a debugger works; `tune.py` runs them on Ray Tune.
Both take the next trial from an iterator when there is room for it, run each up to `Terms.max_attempts` times, and
report events to an `Observer`, always from the thread that called `run`. An executor knows nothing about the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from robustness.errors import RobustnessError
from robustness.trial import EpochResult, Status, Trial, TrialKey


@dataclass(frozen=True)
class Share:
    """The resources of one trial; a GPU can be shared in parts of 1/k."""

    cpu: float = 1.0
    gpu: float = 0.0
    memory: float = 0.0
    """RAM in GB reserved for the trial; 0 reserves none."""

    @property
    def threads(self) -> int:
        """The trial's torch threads: the same on every machine, because the order of summation changes the numbers."""
        return max(1, int(self.cpu))


def one_core(_trial: Trial) -> Share:
    """Return the default share: one core and no GPU."""
    return Share()


@dataclass(frozen=True)
class Terms:
    """Resources, retries and timeout of every trial in a run."""

    share: Callable[[Trial], Share] = one_core
    max_attempts: int = 3
    """Maximum attempts at a trial that crashes or raises; out of memory, timeout and divergence are never retried."""
    retries_failures: bool = False
    """Whether the user asked for several attempts, so that a program that exits with an error is tried again, too."""
    trial_timeout: float | None = None
    """The longest that one attempt may take, in seconds."""


@dataclass(frozen=True)
class Started:
    """Where an attempt runs."""

    worker: str
    """`host:process id`."""
    device: str
    """`cpu`; the GPUs by their index on that host, as in `gpu 0`; or `gpu` if the trial runs in this process."""


@dataclass(frozen=True)
class Ending:
    """How an attempt ended."""

    status: Status
    error: str | None = None
    seconds: float = 0.0
    retry: bool = False
    """The attempt crashed or raised, and another may succeed."""
    retry_if_asked: bool = False
    """A program exited with an error: another attempt only where `Terms.retries_failures`."""
    replace_worker: bool = False
    """The process must not run another trial, because its memory or state cannot be trusted."""


def may_retry(ending: Ending, attempt: int, terms: Terms) -> bool:
    """Whether a trial whose attempt ended so is tried again."""
    worth_it = ending.retry or (ending.retry_if_asked and terms.retries_failures)
    return worth_it and attempt < terms.max_attempts


class ExecutionLost(RobustnessError):
    """The machinery that runs trials is gone, so the run was cut short; it can be resumed."""


class StartInterrupted(BaseException):
    """SIGTERM arrived while an executor was starting; the previous signal handler has already been called."""


class Observer(Protocol):
    """Receives a trial's events: `started`, then its epochs, then `ended`; a retry begins with `started` again.

    `epoch` returns the reason to end the trial here, as `pruned`, or None to continue.
    """

    def started(self, key: TrialKey, attempt: int, where: Started) -> None: ...

    def epoch(self, key: TrialKey, result: EpochResult) -> str | None: ...

    def ended(self, key: TrialKey, ending: Ending) -> None: ...


class Executor(Protocol):
    """Runs trials until the iterator is exhausted or `stop()` is true; running trials are then abandoned unreported."""

    @property
    def starting(self) -> str:
        """What opening a session takes time for, as a line for the user; empty if it takes none."""
        ...

    def run(self, trials: Iterator[Trial], observer: Observer, terms: Terms, stop: Callable[[], bool]) -> None: ...

    def check(self, study: str) -> None:
        """Raise `StudyFileError` if the functions of a study cannot reach the processes that run its trials."""
        ...

    def session(self, first: Trial, terms: Terms) -> AbstractContextManager[None]:
        """Keep resources open that several runs can share, sized for trials like `first`."""
        ...


def never() -> bool:
    """The `stop` of a run that continues to its end."""
    return False
