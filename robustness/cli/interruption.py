"""Ctrl-C, SIGTERM and SIGHUP as a flag, and the command line that resumes what they stopped."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from robustness.cli import INTERRUPTED
from robustness.store.connection import read_url
from robustness.store.hiding import shown

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPEATED_FLAGS = ("inline", "search_only", "no_report", "serve")
"""Flags of the resume line. `--retry` is not among them: the trials that it reset are planned by then."""


class Interruption:
    """Set by the first Ctrl-C, SIGTERM or SIGHUP; the second ends the process; the store can be resumed."""

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
        # After SIGHUP there may be no terminal left to write to.
        with suppress(OSError, ValueError):
            os.write(sys.stderr.fileno(), b"\nStopping. Finished trials are saved; press Ctrl-C again to quit now.\n")


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Turn Ctrl-C, SIGTERM and SIGHUP into a flag for the length of a block; `nohup` keeps its effect."""
    interruption = Interruption()
    heard = [number for number in SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    previous = {number: signal.signal(number, interruption.handle) for number in heard}
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
    if getattr(arguments, "shard", None):
        words += ["--shard", arguments.shard]
    if arguments.port is not None:
        words += ["--port", str(arguments.port)]
    words += [f"--{name.replace('_', '-')}" for name in REPEATED_FLAGS if getattr(arguments, name, False)]
    return shlex.join(words)


def store_option(arguments: argparse.Namespace) -> str:
    """` --store URL` as the user gave it, without a password, for a command that is suggested; empty without one."""
    return f" --store {shlex.quote(shown(read_url(arguments.store)))}" if arguments.store else ""
