"""Ctrl-C and SIGTERM as a flag, and the command line that resumes what they stopped."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from robustness.cli import INTERRUPTED
from robustness.store.connection import read_url, shown

SIGNALS = (signal.SIGINT, signal.SIGTERM)
REPEATED_FLAGS = ("inline", "search_only", "no_report")
"""Flags of the resume line. `--retry` is not among them: the trials that it reset are planned by then."""


class Interruption:
    """Set by the first Ctrl-C or SIGTERM; the second ends the process, and what the store holds can be resumed."""

    def __init__(self) -> None:
        self._is_set = False

    def __call__(self) -> bool:
        return self._is_set

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        if self._is_set:
            os._exit(INTERRUPTED)
        self._is_set = True
        # The signal may have interrupted a print; a plain write cannot interfere with it.
        os.write(sys.stderr.fileno(), b"\nStopping. Finished trials are saved; press Ctrl-C again to quit now.\n")


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Turn Ctrl-C and SIGTERM into a flag for the length of a block."""
    interruption = Interruption()
    previous = {number: signal.signal(number, interruption.handle) for number in SIGNALS}
    try:
        yield interruption
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def resume_line(arguments: argparse.Namespace) -> str:
    """The command line that resumes an interrupted `sweep` or `optimize`."""
    words = ["robustness", arguments.command, arguments.study]
    for override in arguments.set:
        words += ["--set", override]
    words += shlex.split(store_option(arguments))
    if arguments.workers:
        words += ["--workers", str(arguments.workers)]
    if arguments.ray_address:
        words += ["--ray-address", arguments.ray_address]
    for trial in getattr(arguments, "only", []):
        words += ["--only", trial]
    words += [f"--{name.replace('_', '-')}" for name in REPEATED_FLAGS if getattr(arguments, name, False)]
    return shlex.join(words)


def store_option(arguments: argparse.Namespace) -> str:
    """` --store URL` as the user gave it, without a password, for a command that is suggested; empty without one."""
    return f" --store {shlex.quote(shown(read_url(arguments.store)))}" if arguments.store else ""
