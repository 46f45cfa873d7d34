"""What a trial's code changes in its process is undone: folder, signal handlers, output, random state, children.

The process that runs trials is the sweep's own (inline) or a worker that runs further trials. Threads cannot be ended
from outside, so a worker in which a trial left some is replaced.
"""

from __future__ import annotations

import hashlib
import io
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, NamedTuple

from robustness.trial import Trial

_SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGCHLD", "SIGPIPE", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
_OUTPUTS = ("stdout", "stderr")
_REAP_SECONDS = 2.0


class Isolation:
    """The state of this process outside a trial, and the trial's own while its code runs."""

    def __init__(self) -> None:
        self._outside = _State.now()
        self._inside: _State | None = None
        self._outputs = _Outputs()
        self._random = _random_states()
        self._children = child_processes()
        self._threads = set(threading.enumerate())

    @contextmanager
    def of_trial(self) -> Iterator[None]:
        """Let the trial's code run in the block, in the state in which it left the process before."""
        self._outside = _State.now()
        if self._inside is not None:
            self._inside.restore()
        try:
            yield
        finally:
            self._inside = _State.now()
            self._outside.restore()
            self._outputs.restore()

    def clean_up(self) -> bool:
        """End what the trial started and left behind; returns whether threads remain, which cannot be ended."""
        self._outputs.close()
        for name, state in self._random.items():
            _GENERATORS[name].restore(state)
        end_processes(child_processes() - self._children)
        return any(
            thread.is_alive() and not thread.daemon for thread in threading.enumerate() if thread not in self._threads
        )


class _Generator(NamedTuple):
    """A module's global random generator, which code uses that does not make its own."""

    state: Callable[[], Any]
    restore: Callable[[Any], Any]
    seed: Callable[[int], Any]


def _numpy_random() -> Any:
    return sys.modules["numpy"].random


_GENERATORS = {
    "random": _Generator(random.getstate, random.setstate, random.seed),
    "numpy": _Generator(
        lambda: _numpy_random().get_state(),
        lambda state: _numpy_random().set_state(state),
        lambda number: _numpy_random().seed(number % 2**32),
    ),
    "torch": _Generator(
        lambda: sys.modules["torch"].get_rng_state(),
        lambda state: sys.modules["torch"].set_rng_state(state),
        lambda number: sys.modules["torch"].manual_seed(number),
    ),
}


def _random_states() -> dict[str, Any]:
    return {name: generator.state() for name, generator in _GENERATORS.items() if name in sys.modules}


def seed_global_generators(trial: Trial) -> None:
    """Seed the global generators of loaded modules, alike for all arms of a pair, so that no trial affects another."""
    key = f"{trial.seed}/{trial.configuration}/{trial.replicate}/global"
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:7], "little")
    for name, generator in _GENERATORS.items():
        if name in sys.modules:
            generator.seed(number)


@dataclass(frozen=True)
class _State:
    """What any code can change for its whole process."""

    folder: Path | None
    umask: int
    handlers: dict[int, Any]
    streams: tuple[Any, ...]
    recursion_limit: int

    @staticmethod
    def now() -> _State:
        umask = os.umask(0o077)
        os.umask(umask)
        try:
            folder: Path | None = Path.cwd()
        except OSError:
            folder = None
        in_main = threading.current_thread() is threading.main_thread()
        handlers = {number: signal.getsignal(number) for number in _SIGNALS} if in_main else {}
        streams = (sys.stdin, sys.stdout, sys.stderr)
        return _State(folder, umask, handlers, streams, sys.getrecursionlimit())

    def restore(self) -> None:
        now = _State.now()
        if self == now:
            return
        os.umask(self.umask)
        if self.folder is not None and self.folder != now.folder:
            with suppress(OSError):
                os.chdir(self.folder)
        for number, handler in self.handlers.items():
            # A handler that was not set from Python cannot be set again.
            if handler is not None and handler != now.handlers.get(number):
                signal.signal(number, handler)
        sys.stdin, sys.stdout, sys.stderr = self.streams
        sys.setrecursionlimit(self.recursion_limit)


class _Outputs:
    """Copies of the descriptors of stdout and stderr, from which closed or redirected ones are opened again."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[int, tuple[int, int]]] = {}
        for descriptor in (1, 2):
            with suppress(OSError):
                self._copies[descriptor] = os.dup(descriptor), _identity(descriptor)

    def restore(self) -> None:
        for descriptor, (copy, identity) in self._copies.items():
            with suppress(OSError):
                if _identity(descriptor) != identity:
                    os.dup2(copy, descriptor)
        for descriptor, name in enumerate(_OUTPUTS, start=1):
            stream = getattr(sys, name)
            if getattr(stream, "closed", False) and descriptor in self._copies:
                reopened = io.TextIOWrapper(
                    io.FileIO(descriptor, "w", closefd=False), encoding="utf-8", errors="replace", line_buffering=True
                )
                setattr(sys, name, reopened)

    def close(self) -> None:
        for copy, _ in self._copies.values():
            with suppress(OSError):
                os.close(copy)
        self._copies = {}


def _identity(descriptor: int) -> tuple[int, int]:
    """Return what tells an open file from others; (-1, -1) if the descriptor is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return -1, -1
    return status.st_dev, status.st_ino


def child_processes(of: int | None = None) -> set[int]:
    """Return the process ids of the direct children of this process, or of another; empty where there is no /proc."""
    found: set[int] = set()
    with suppress(OSError):
        for task in Path(f"/proc/{of or 'self'}/task").iterdir():
            with suppress(OSError):
                found.update(map(int, (task / "children").read_text().split()))
    return found


def end_processes(children: set[int]) -> None:
    """Kill child processes with all their descendants, and collect them."""
    # Python's own helper process serves later trials, too, and complains if it is gone.
    helper = getattr(resource_tracker._resource_tracker, "_pid", None)
    ending = [child for child in children if child != helper]
    kill(with_descendants(ending))
    deadline = time.monotonic() + _REAP_SECONDS
    while ending and time.monotonic() < deadline:
        ending = [child for child in ending if not _collected(child)]
        if ending:
            time.sleep(0.005)


def with_descendants(processes: Iterable[int]) -> list[int]:
    """Return the process ids, those of their children, and so on."""
    found = list(processes)
    for process in found:
        found += child_processes(process) - set(found)
    return found


def start_of(process: int) -> str | None:
    """Return when a process started, in ticks of the kernel, which tells it from a later one of the same number."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def kill(processes: Iterable[int]) -> None:
    """Kill processes, some of which may have ended."""
    for process in processes:
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)


def _collected(child: int) -> bool:
    try:
        return os.waitpid(child, os.WNOHANG)[0] == child
    except OSError:
        return True
