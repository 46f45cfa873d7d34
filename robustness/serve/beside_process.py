"""The process of a live page beside a sweep (`robustness.serve.beside`): `python -m robustness.serve.beside_process`.

It reads one line, `{"store": URL, "socket": DESCRIPTOR, "host": ADDRESS}`, and serves until its standard input ends.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading

from robustness.serve.addresses import Listener
from robustness.serve.server import LiveServer

NICE = 5
"""Trials go first."""


def main() -> int:
    """Serve until the sweep ends; returns the exit code."""
    os.nice(NICE)
    words = json.loads(sys.stdin.buffer.readline())
    server = LiveServer(words["store"], Listener(socket.socket(fileno=words["socket"]), words["host"]))
    server.farewell = True

    def stop_with_the_sweep() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True

    threading.Thread(target=stop_with_the_sweep, daemon=True).start()
    server.serve_until_stopped()
    return 0


if __name__ == "__main__":
    # Not `sys.exit`, which would wait for a thread that may be waiting for a database.
    os._exit(main())
