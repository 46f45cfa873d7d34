"""Executors: what runs the trials of a plan, here or on a cluster, behind one small protocol.

`inline.py` runs trials one after another in this process, so a debugger works; `tune.py` runs them on Ray Tune.
Both take trials from an iterator when there is room for one, run each up to `Terms.max_attempts` times, and tell an
`Observer` what happened, always from the thread that called `run`. An executor knows nothing of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from robustness.trial import EpochResult, Status, Trial, TrialKey


@dataclass(frozen=True)
class Share:
    """What one trial takes of a machine; a GPU may be shared by whole parts, 1/k."""

    cpu: float = 1.0
    gpu: float = 0.0
    memory: float = 0.0
    """Main memory in GB that is kept free for it; 0 is any."""

    @property
    def threads(self) -> int:
        """Torch threads of the trial: the same everywhere, because sums in another order give other numbers."""
        return max(1, int(self.cpu))


def one_core(_trial: Trial) -> Share:
    """The share of a trial that asks for nothing special."""
    return Share()


@dataclass(frozen=True)
class Terms:
    """The terms on which every trial of a run is run."""

    share: Callable[[Trial], Share] = one_core
    max_attempts: int = 3
    """How often a trial is run that crashes or raises; out of memory, time-out and divergence are never tried again."""
    trial_timeout: float | None = None
    """Seconds that one attempt may take."""


@dataclass(frozen=True)
class Started:
    """Where an attempt runs."""

    worker: str
    """`host:process id`."""
    device: str
    """`cpu`, the GPUs by their numbers on that host, `gpu 0`, or `gpu` where the trial runs in this very process."""


@dataclass(frozen=True)
class Ending:
    """How an attempt ended."""

    status: Status
    error: str | None = None
    seconds: float = 0.0
    again: bool = False
    """It crashed or raised: another attempt may go better."""
    renew: bool = False
    """The process must not run another trial: its memory or its state is not to be trusted."""


class StartInterrupted(BaseException):
    """SIGTERM came while an executor was being started; whoever listens for the signal has been told."""


class Observer(Protocol):
    """What an executor tells: for each trial `started`, then its epochs, then `ended`; `started` again for a retry.

    What `epoch` gives is why the trial shall end here, as `pruned`; None lets it go on.
    """

    def started(self, key: TrialKey, attempt: int, where: Started) -> None: ...

    def epoch(self, key: TrialKey, result: EpochResult) -> str | None: ...

    def ended(self, key: TrialKey, ending: Ending) -> None: ...


class Executor(Protocol):
    """Runs trials until the iterator has no more, or until `stop()` says so: then what runs is given up, untold."""

    def run(self, trials: Iterator[Trial], observer: Observer, terms: Terms, stop: Callable[[], bool]) -> None: ...

    def session(self, first: Trial, terms: Terms) -> AbstractContextManager[None]:
        """What several runs can share, kept up for the length of a block; for trials like this first one."""
        ...


def never() -> bool:
    """The `stop` of a run that goes on to its end."""
    return False
