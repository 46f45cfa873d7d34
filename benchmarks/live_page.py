"""What the live page costs: 20 viewers beside a sweep, and the time to open a store of 10,000 trials.

The same sweep runs in turn with and without a server and its viewers, several times, each time in a fresh store. Its
time is that from the start of its first trial to the end of its last, in one process that computes all the time. On a
machine with other work, the CPU time of the sweep's process and that of the server say more than the clock.

    python benchmarks/live_page.py [--rounds N]
"""

from __future__ import annotations

import os
import re
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show
from store import LargeStudy, write_all

from robustness.store import open_store

VIEWERS = 20
TRIALS, EPOCHS = 10_000, 20
STUDY = """
name: watched
trainable: simulated_trials:busy
arms: [first, second]
space: {rate: {low: 0.001, high: 1.0}}
sampling: {configurations: 20, seed: 0}
training: {epochs: 10, steps: 150000}
outcomes: {learned_nothing: {below: 0.4}, good: {at_least: 0.8}}
"""


@dataclass(frozen=True)
class ListedStudy(LargeStudy):
    """The large study with its arms in the document, as every study has them."""

    def document(self) -> dict[str, Any]:
        arms: list[dict[str, Any]] = [{"label": arm, "method": arm, "options": {}} for arm in ("mfvi", "radial")]
        sampling = {"seed": 0, "replicates": 1}
        return super().document() | {"arms": arms, "sampling": sampling, "space": {"batch_size": [16]}}


class Viewers:
    """Connections that read a stream and throw it away."""

    def __init__(self, port: int, path: str, count: int) -> None:
        self.received = 0
        self._selector = selectors.DefaultSelector()
        self._is_closed = False
        for _ in range(count):
            viewer = socket.create_connection(("127.0.0.1", port))
            viewer.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            self._selector.register(viewer, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_closed = True
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]

    def _read(self) -> None:
        while not self._is_closed:
            for key, _ in self._selector.select(0.2):
                self.received += len(key.fileobj.recv(1 << 16))  # type: ignore[union-attr]


@contextmanager
def serving(store: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """`robustness serve` as a process; its port."""
    words = [sys.executable, "-m", "robustness", "serve", "--port", "0", "--store", store]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+)/", process.stdout.readline())
            assert found is not None
            yield int(found[1]), process
        finally:
            process.terminate()


def sweep_times(folder: Path, store: str) -> tuple[float, float]:
    """Seconds on the clock from the first start to the last end, and CPU seconds of the sweep's process."""
    study = folder / "study.yaml"
    study.write_text(STUDY)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["sweep", str(study), "--store", store, "--inline", "--quiet", "--no-report"]
    environment = {"PYTHONPATH": f"{Path(__file__).parent}:{Path(__file__).parents[1]}"}
    process = subprocess.run([sys.executable, "-m", "robustness", *words], env=os.environ | environment)
    assert process.returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open_store(store, create=False) as opened:
        trials = opened.study("watched").trials()
    clock = (trials["ended"].max() - trials["started"].min()).total_seconds()
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cpu_seconds(process: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def watched_sweeps(rounds: int) -> Iterator[Result]:
    """Sweeps with and without viewers, in turn."""
    clocks: dict[bool, list[float]] = {False: [], True: []}
    computed: dict[bool, list[float]] = {False: [], True: []}
    shares = []
    received = 0
    for place in range(2 * rounds):
        # Neither is always the first of two.
        watched = place % 4 in (1, 2)
        with tempfile.TemporaryDirectory() as folder:
            store = f"sqlite:///{folder}/store.db"
            if watched:
                with serving(store) as (port, server):
                    viewers = Viewers(port, "/studies/watched/events", VIEWERS)
                    used, began = cpu_seconds(server.pid), time.perf_counter()
                    clock, cpu = sweep_times(Path(folder), store)
                    shares.append((cpu_seconds(server.pid) - used) / (time.perf_counter() - began))
                    viewers.close()
                    received += viewers.received
            else:
                clock, cpu = sweep_times(Path(folder), store)
        clocks[watched].append(clock)
        computed[watched].append(cpu)
    assert received > VIEWERS * rounds * 1000, "the viewers saw nothing"
    names = {"clock": clocks, "CPU seconds of the sweep": computed}
    for name, times in names.items():
        ratios = [one / other for one, other in zip(times[True], times[False], strict=True)]
        range_of_ratios = f"{min(ratios):.3f} to {max(ratios):.3f}"
        note = f"{rounds} pairs of sweeps of {statistics.median(times[False]):.1f} s; {range_of_ratios}"
        value = statistics.median(times[True]) / statistics.median(times[False])
        yield Result(f"{VIEWERS} viewers: {name}, with / without", value, "x", most=1.02, note=note)
    share = statistics.median(shares)
    yield Result(f"{VIEWERS} viewers: share of one core that the server takes", 100 * share, "%")


def opening() -> Iterator[Result]:
    """The time until the page of a large study has its first state."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/store.db"
        with open_store(url) as store:
            study = ListedStudy()
            write_all(store.register(study, study), TRIALS, EPOCHS)
        began = time.perf_counter()
        with serving(url) as (port, _):
            listening = time.perf_counter()
            first = _first_event(port)
            size = len(first)
            opened = time.perf_counter()
            again = time.perf_counter()
            _first_event(port)
            yield Result(f"open {TRIALS:,} trials: until the first state", opened - listening, "s", most=2.0)
            yield Result("the same with the start of the command", opened - began, "s")
            yield Result("a second page", time.perf_counter() - again, "s", note=f"{size / 1000:.0f} kB")


def _first_event(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as viewer:
        viewer.sendall(b"GET /studies/large/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        content = b""
        while b"event: study" not in content or not content.endswith(b"\n\n\r\n"):
            part = viewer.recv(1 << 16)
            assert part, content[-300:]
            content += part
        return content


def results(rounds: int) -> Iterator[Result]:
    yield from opening()
    yield from watched_sweeps(rounds)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=9, metavar="N", help="pairs of sweeps (default: 9)")
    arguments = options.parse_args()
    return show(results(arguments.rounds), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
