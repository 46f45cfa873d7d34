"""The push form: a function that calls `trial.report` becomes an iterator over what it reports.

The function runs in a thread, but never at the same time as its caller: each hands over to the other, as a generator
and its caller do. So nothing else of an executor has to know that results are pushed.
"""

from __future__ import annotations

import ctypes
import queue
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

from robustness.trial import EpochResult, Trial, collecting

_JOIN_SECONDS = 2.0
"""Seconds that a function may take to end after it was asked to."""


class TrialEnded(BaseException):
    """Raised in a function whose trial is over; not an `Exception`, so that `except Exception` does not catch it."""


class Pushed(Iterator[EpochResult]):
    """The epochs that a function reports, one at a time; afterwards `returned` is what it returned."""

    def __init__(self, call: Callable[[], Any], trial: Trial) -> None:
        self.returned: Any = None
        self.count = 0
        """Epochs reported so far."""
        self._call = call
        self._trial = trial
        self._error: BaseException | None = None
        self._results: queue.SimpleQueue[EpochResult | None] = queue.SimpleQueue()
        """What the function has reported; None when it has ended."""
        self._turns: queue.SimpleQueue[bool] = queue.SimpleQueue()
        """True lets the function go on, False ends it."""
        self._thread: threading.Thread | None = None
        self._over = False

    def __next__(self) -> EpochResult:
        if self._over:
            raise StopIteration
        try:
            if self._thread is None:
                self._start()
            else:
                self._turns.put(True)
            result = self._results.get()
        except BaseException:
            # A timer of the executor, or Ctrl-C, interrupts the wait.
            self.close()
            raise
        if result is not None:
            self.count += 1
            return result
        self._over = True
        if self._thread is not None:
            self._thread.join()
        if isinstance(self._error, StopIteration):
            raise RuntimeError("the function raised StopIteration") from self._error
        raise StopIteration if self._error is None else self._error

    def close(self) -> None:
        """End the function at its next report, or inside it if it runs Python code."""
        thread, self._over = self._thread, True
        if thread is None or not thread.is_alive():
            return
        self._turns.put(False)
        thread.join(0.05)
        if thread.is_alive() and thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(TrialEnded))
            thread.join(_JOIN_SECONDS)

    def _start(self) -> None:
        context = copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name=f"trial {self._trial.key}")
        self._thread.daemon = True  # One that cannot be ended must not keep its process alive.
        self._thread.start()

    def _run(self) -> None:
        try:
            with collecting(self._report):
                self.returned = self._call()
        except BaseException as error:
            self._error = error
        finally:
            self._results.put(None)

    def _report(self, result: EpochResult) -> None:
        if self._over:
            raise TrialEnded
        self._results.put(result)
        if not self._turns.get():
            raise TrialEnded
