"""The command line as a process: nothing but our own lines in its output, and an end whatever trials left behind."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from robustness.cli import main


def run() -> None:
    """Run the command line and end this process with its exit code."""
    if not sys.warnoptions and "--debug" not in sys.argv:
        warnings.simplefilter("ignore")
        logging.lastResort = logging.NullHandler()
    code = main()
    if any(_keeps_alive(thread) for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _keeps_alive(thread: threading.Thread) -> bool:
    """Whether a thread would keep this process alive: one that a trial left behind, or one that waits for Ray."""
    return thread is not threading.main_thread() and (not thread.daemon or thread.name.startswith("ray-"))


@contextmanager
def only_our_lines() -> Iterator[None]:
    """Discard what libraries write directly to the descriptors of stdout and stderr within the block."""
    with ExitStack() as undo:
        for descriptor, name in ((1, "stdout"), (2, "stderr")):
            with suppress(OSError):  # The descriptor may be closed: then nothing can be written to it.
                undo.enter_context(_discarded(descriptor, name))
        yield


@contextmanager
def _discarded(descriptor: int, name: str) -> Iterator[None]:
    copy = os.dup(descriptor)
    stream = getattr(sys, name)
    replacement = None
    try:
        if _writes_to(stream, descriptor):
            stream.flush()
            raw = io.FileIO(copy, "w", closefd=False)
            replacement = _OurStream(
                io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, line_buffering=True
            )
            setattr(sys, name, replacement)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
        yield
    finally:
        if replacement is not None:
            with suppress(OSError, ValueError):
                replacement.close()
            setattr(sys, name, stream)
        os.dup2(copy, descriptor)
        os.close(copy)


class _OurStream(io.TextIOWrapper):
    """A stream that ignores the threads of Ray, which print news about its processes."""

    def write(self, text: str) -> int:
        return len(text) if threading.current_thread().name.startswith("ray") else super().write(text)


def _writes_to(stream: object, descriptor: int) -> bool:
    try:
        return stream.fileno() == descriptor  # type: ignore[attr-defined,no-any-return]
    except (AttributeError, OSError, ValueError):
        return False
