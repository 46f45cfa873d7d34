"""Noticing that Ray is gone: Tune itself would wait for minutes when a raylet, its agent or the head has died."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray
from ray._private import state

from robustness.execution.protocol import ExecutionLost, Share
from robustness.execution.resources import fits, missing

PROBE_SECONDS = 2.0
"""Seconds between two questions to the cluster's head."""
SILENCE_SECONDS = 15.0
"""Seconds without an answer after which the head of a cluster counts as lost."""
OWN_SILENCE_SECONDS = 300.0
"""The same for a head that this process started: as long as its processes live, the machine is merely busy."""
HOMELESS_SECONDS = 20.0
"""Seconds for which waiting trials may fit on no node, for example while one restarts."""
_ESSENTIAL = ("gcs_server", "raylet")


class Health:
    """The state of the Ray that this process is connected to, asked for in a thread of its own."""

    def __init__(self) -> None:
        self._node = ray.get_runtime_context().get_node_id()
        self._autoscales = autoscales()
        self._machines = machines()
        self._answered = time.monotonic()
        self._homeless_since: float | None = None
        self._own_node_died = False
        self._ended = threading.Event()
        threading.Thread(target=self._probe, name="ray-health", daemon=True).start()

    def close(self) -> None:
        """End the questions."""
        self._ended.set()

    def lost(self) -> str | None:
        """Return what has been lost, or None."""
        node: Any = ray._private.worker._global_node
        own = node.all_processes if node is not None else {}
        for kind in _ESSENTIAL:
            if any(started.process.poll() is not None for started in own.get(kind, ())):
                return f"Ray's process {kind} has ended"
        if self._own_node_died:
            return "the Ray node on this machine has died"
        silence = time.monotonic() - self._answered
        allowed = OWN_SILENCE_SECONDS if own.get("gcs_server") else SILENCE_SECONDS
        return f"the head of the Ray cluster has not answered for {silence:.0f} s" if silence > allowed else None

    def check(self, waiting: Sequence[Share]) -> None:
        """Raise `ExecutionLost` if Ray is gone, or if trials have been waiting for resources that no node has."""
        reason = self.lost()
        if reason is not None:
            raise ExecutionLost(reason)
        homeless = [] if self._autoscales else [share for share in waiting if not fits(share, self._machines)]
        if not homeless:
            self._homeless_since = None
            return
        now = time.monotonic()
        self._homeless_since = self._homeless_since or now
        if now - self._homeless_since > HOMELESS_SECONDS:
            raise ExecutionLost(missing(homeless[0], self._machines, "the largest node of the Ray cluster"))

    def _probe(self) -> None:
        while not self._ended.wait(PROBE_SECONDS):
            with suppress(Exception):
                nodes = ray.nodes()  # type: ignore[no-untyped-call]
                self._answered = time.monotonic()
                self._machines = [node["Resources"] for node in nodes if node["Alive"]]
                self._own_node_died = any(node["NodeID"] == self._node and not node["Alive"] for node in nodes)


def machines() -> list[dict[str, float]]:
    """Return the resources of each living node of the connected cluster."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def autoscales() -> bool:
    """Whether the connected cluster can add nodes of which it has none yet."""
    launched = Path("~/ray_bootstrap_config.yaml").expanduser().exists()
    return launched or state.state.get_max_resources_from_cluster_config() is not None
