"""The live page beside a sweep: a process of its own, which ends with the sweep.

The driver makes the socket, so that it knows the URL at once, and hands it over. The other process only reads the
store. It ends when its standard input does: when the sweep has ended, and also when its driver was killed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from robustness.serve.addresses import LOOPBACK, PORT, listen, require_extra

LAST_WORDS = 5.0
"""Seconds for which the driver waits until viewers have seen the end."""


@contextmanager
def live_page(store: str, study: str, port: int | None = None) -> Iterator[str]:
    """Serve the live page on loopback within the block; yields its URL.

    Without a port, it is the usual one, or another if that is in use. Raises ServeError if the given port is in use.
    """
    require_extra()
    listener = listen(LOOPBACK, PORT if port is None else port, any_port=port is None)
    with listener.socket:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "robustness.serve.beside_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[listener.socket.fileno()],
            # Ctrl-C is for the sweep.
            start_new_session=True,
        )
        pipe = process.stdin
        if pipe is None:
            raise RuntimeError("the process has no standard input")
        # Not on the command line, which everybody on the machine can read: the URL may have a password.
        words = {"store": store, "socket": listener.socket.fileno(), "host": listener.host}
        with suppress(OSError):
            pipe.write(json.dumps(words).encode() + b"\n")
            pipe.flush()
        url = listener.url(study)
    try:
        yield url
    finally:
        with suppress(OSError):
            pipe.close()
        try:
            process.wait(LAST_WORDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
