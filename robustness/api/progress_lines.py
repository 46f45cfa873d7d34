"""The progress of a running sweep as plain lines, every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TextIO

from robustness.execution.protocol import Started
from robustness.guards.printable import printable
from robustness.sweep.outcomes import Outcome
from robustness.sweep.progress import SweepProgress, duration
from robustness.trial import EpochResult, Status, TrialKey

LINE_EVERY = 10.0
"""Seconds between two lines."""


class ProgressLines:
    """Prints the progress of a sweep to stderr; a `SweepWatcher` and a context manager."""

    def __init__(self, progress: SweepProgress, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.progress = progress
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._last_line = -LINE_EVERY

    def __enter__(self) -> ProgressLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._print_line(always=True)

    def planned(self, keys: Sequence[TrialKey]) -> None:
        self.progress.planned(keys)

    def started(self, key: TrialKey, where: Started) -> None:  # noqa: ARG002 - the store keeps the worker
        self.progress.started(key)
        self._print_line()

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self.progress.epoch(key, result)
        self._print_line()

    def ended(self, key: TrialKey, status: Status, outcome: Outcome | None, seconds: float) -> None:
        self.progress.ended(key, status, outcome, seconds)
        self._print_line()

    def _print_line(self, always: bool = False) -> None:
        """Print a line unless the last one is recent."""
        now = time.monotonic()
        if not self._quiet and (always or now - self._last_line >= LINE_EVERY):
            self._last_line = now
            tell(self.progress.line(), self._stream)


class ScoringLines:
    """Says every few seconds how many untrained networks have been scored, and how long the rest will take."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._last_line = time.monotonic()
        self._first: tuple[float, int] | None = None

    def __call__(self, scored: int, of: int) -> None:
        now = time.monotonic()
        if self._first is None:
            # What the workers load comes before the first scores.
            self._first = now, scored
        if now - self._last_line < LINE_EVERY or scored == of:
            return
        self._last_line = now
        began, before = self._first
        left = "" if scored == before else f", about {duration((of - scored) * (now - began) / (scored - before))} left"
        self._say(f"scored {scored} of {of} untrained networks{left}")


def tell(line: str, stream: TextIO | None = None) -> None:
    """Print a line of progress to stderr; a stream that is closed or full does not end what is running."""
    with suppress(OSError, ValueError):
        print(printable(line), file=stream or sys.stderr, flush=True)
