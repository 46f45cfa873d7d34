"""A sweep in a process of its own, and the processes and listeners that belong to it."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robustness.execution.isolation import with_descendants

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
LISTENING = "0A"


@contextmanager
def sweeping(
    path: Path, *options: str, wait_for: Path | None = None, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """`robustness sweep` as the leader of its own process group; it is killed at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "robustness", "sweep", str(path), "--no-report", *options],
        env=os.environ | ENVIRONMENT | (environment or {}),
        cwd=path.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_heed_hangups,
    )
    try:
        end = time.monotonic() + 120
        while wait_for is not None and not wait_for.exists() and process.poll() is None:
            assert time.monotonic() < end, "the sweep did not begin"
            time.sleep(0.05)
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _heed_hangups() -> None:
    # Tests that were themselves started by nohup would pass its effect on.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def command_of(process: int) -> str:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def family(process: int) -> dict[int, str]:
    """The command lines of a process and of all its descendants."""
    return {each: command_of(each) for each in with_descendants([process])}


def wait_until_gone(processes: dict[int, str], seconds: float = 30.0) -> list[str]:
    """The command lines of those that are still there after so many seconds."""
    end = time.monotonic() + seconds
    while True:
        left = [command for each, command in processes.items() if command and command_of(each)]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.1)


def listeners(processes: dict[int, str]) -> list[tuple[str, int]]:
    """The address and port of every TCP socket on which one of the processes listens, as the kernel knows them."""
    owned = set()
    for process in processes:
        try:
            for link in Path(f"/proc/{process}/fd").iterdir():
                target = str(link.readlink())
                if target.startswith("socket:["):
                    owned.add(target[8:-1])
        except OSError:
            continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in owned:
                address, port = fields[1].split(":")
                found.append((_readable(address), int(port, 16)))
    return found


def _readable(address: str) -> str:
    words = [struct.pack("=I", int(address[place : place + 8], 16)) for place in range(0, len(address), 8)]
    packed = b"".join(words)
    text = socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
    return text.removeprefix("::ffff:")
