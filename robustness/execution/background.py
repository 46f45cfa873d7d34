"""Ray Tune runs in a background thread, the driver's own work in the thread that called the executor.

Ray may block for minutes when one of its processes is gone. The calling thread is never blocked by it: it serves the
requests of the background thread, and between them it checks whether to go on.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_CHECK_SECONDS = 0.1
_THREAD = "ray-tune"

T = TypeVar("T")


class Abandoned(Exception):
    """Raised in the background thread when the calling thread no longer serves it."""


def is_left() -> bool:
    """Whether an abandoned background thread is still at work."""
    return any(thread.name == _THREAD for thread in threading.enumerate())


class Background:
    """Runs a function in a background thread that can call back into the thread that waits for it."""

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._closed = threading.Event()

    def in_caller(self, work: Callable[[], T]) -> T:
        """Do some work in the calling thread, from the background thread, and return its result."""
        answer: Future[T] = Future()

        def do() -> None:
            try:
                answer.set_result(work())
            except BaseException as error:
                answer.set_exception(error)

        self._requests.put(do)
        while not self._closed.is_set():
            try:
                return answer.result(timeout=1.0)
            except TimeoutError:
                if answer.done():
                    raise
        raise Abandoned

    def run(self, function: Callable[[], None], goes_on: Callable[[], bool]) -> None:
        """Run the function until it returns; abandon it as soon as `goes_on`, called often, is false or raises."""
        failure: list[BaseException] = []

        def run() -> None:
            try:
                function()
            except BaseException as error:
                failure.append(error)
            finally:
                self._requests.put(None)

        thread = threading.Thread(target=run, name=_THREAD, daemon=True)
        thread.start()
        try:
            while goes_on():
                try:
                    request = self._requests.get(timeout=_CHECK_SECONDS)
                except queue.Empty:
                    continue
                if request is None:
                    thread.join()
                    break
                request()
        finally:
            self._closed.set()
        if failure:
            raise failure[0]
