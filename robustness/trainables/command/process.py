"""A command as a process group that ends with its trial, however the trial or its worker ends."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from robustness.trainables.command.lines import LineReader

LAUNCHER = Path(__file__).with_name("launcher.py")
POLL_SECONDS = 0.2
"""Seconds between two looks at a file of results and at the clock."""
_CHUNK = 65_536


class Process:
    """A running command; a context manager that leaves none of its processes."""

    def __init__(self, words: Sequence[str]) -> None:
        self._status, status = os.pipe()
        os.set_inheritable(status, True)
        # Isolated and without site packages: the launcher needs neither, and the command's environment is unchanged.
        launch = [sys.executable, "-I", "-S", str(LAUNCHER), str(status), *words]
        try:
            self._launcher = subprocess.Popen(  # noqa: S603 - the study's own command, without a shell
                launch,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(status,),
                start_new_session=True,
            )
        except BaseException:
            os.close(self._status)
            raise
        finally:
            os.close(status)
        self.answer = ""
        """The exit code of the command, or why it could not start, once it has ended."""

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    def lines(self, deadline: float | None) -> Iterator[tuple[str, str | None]]:
        """Yield each line with its stream, `stdout` or `stderr`, until the command ends.

        Yields ("", None) every so often while nothing is printed. Raises TimeoutError at the deadline, a time of
        `time.monotonic`.
        """
        streams = {"stdout": self._launcher.stdout, "stderr": self._launcher.stderr}
        readers = {name: LineReader() for name in streams}
        with selectors.DefaultSelector() as selector:
            for name, stream in streams.items():
                selector.register(_opened(stream), selectors.EVENT_READ, name)
            while selector.get_map():
                if deadline is not None and time.monotonic() >= deadline:
                    raise TimeoutError
                for key, _ in selector.select(POLL_SECONDS):
                    data = os.read(key.fd, _CHUNK)
                    if not data:
                        selector.unregister(key.fileobj)
                    for line in readers[key.data].feed(data) if data else readers[key.data].close():
                        yield line, key.data
                yield "", None
        self._launcher.wait()
        self.answer = os.read(self._status, 2000).decode(errors="replace")

    def end(self) -> None:
        """Kill the whole process group, and collect the launcher."""
        # Until it is waited for, its number cannot belong to another group.
        if self._launcher.returncode is None:
            with suppress(OSError):
                os.killpg(self._launcher.pid, signal.SIGKILL)
            self._launcher.wait()
        for stream in (self._launcher.stdin, self._launcher.stdout, self._launcher.stderr):
            with suppress(OSError):
                _opened(stream).close()
        if self._status >= 0:
            os.close(self._status)
            self._status = -1


def _opened(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise RuntimeError("the command was started without pipes")
    return stream
