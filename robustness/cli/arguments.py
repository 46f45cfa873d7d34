"""What the commands that run trials share: their arguments, their executor, and how they are interrupted."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robustness.execution.protocol import Executor

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def add_study_arguments(parser: argparse.ArgumentParser) -> None:
    """STUDY, --set and --store."""
    parser.add_argument("study", metavar="STUDY", help="a study file, or the name of a bundled study")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a field: training.epochs=5 (repeatable)",
    )
    add_store_argument(parser)


def add_store_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", metavar="URL", help="the SQL store (default: ROBUSTNESS_STORE, or sqlite:///robustness.db)"
    )


def add_running_arguments(parser: argparse.ArgumentParser) -> None:
    """--workers, --ray-address, --inline and --quiet."""
    parser.add_argument(
        "--workers", type=_count, metavar="N", help="trials at once (default: as many as the resources allow)"
    )
    parser.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        default=os.environ.get("RAY_ADDRESS"),
        help="join a running Ray cluster, `auto` or host:port (default: RAY_ADDRESS, or a Ray of its own)",
    )
    parser.add_argument("--inline", action="store_true", help="one trial after another in this process, without Ray")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def make_executor(arguments: argparse.Namespace) -> Executor:
    """The executor that the arguments ask for."""
    if arguments.inline:
        from robustness.execution.inline import InlineExecutor

        return InlineExecutor()
    from robustness.execution.tune import TuneExecutor

    return TuneExecutor(arguments.workers, arguments.ray_address)


class Interruption:
    """Set by the first Ctrl-C or SIGTERM; the second leaves at once, and what the store has is still resumable."""

    def __init__(self) -> None:
        self.number: int | None = None

    def __call__(self) -> bool:
        return self.number is not None

    def hear(self, number: int, _frame: FrameType | None) -> None:
        if self.number is not None:
            os._exit(130)
        self.number = number
        # A print may be under way in the frame that the signal interrupted; a plain write cannot get in its way.
        os.write(sys.stderr.fileno(), b"\nstopping: what is done is kept; once more leaves at once\n")


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Ctrl-C and SIGTERM become a flag for the length of a block."""
    interruption = Interruption()
    before = {number: signal.signal(number, interruption.hear) for number in SIGNALS}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def command_line(command: str, arguments: argparse.Namespace) -> str:
    """The line that goes on with what was interrupted."""
    words = ["robustness", command, arguments.study]
    for override in arguments.set:
        words += ["--set", override]
    if arguments.store:
        from robustness.store.connection import read_url, shown

        words += ["--store", shown(read_url(arguments.store))]
    if arguments.workers:
        words += ["--workers", str(arguments.workers)]
    if arguments.ray_address:
        words += ["--ray-address", arguments.ray_address]
    return shlex.join(words)


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, found {text!r}")
    return number
