"""Ray, quietly: a connection to a running cluster, or a local Ray that is started for one run and stopped after it."""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray

from robustness.errors import RobustnessError
from robustness.execution.protocol import StartInterrupted

_MEBIBYTE = 1 << 20
CONNECT_SECONDS = 5.0

_QUIET = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_WARN_THRESHOLD_S": "3600",
    # Tune's own state is never what a resume depends on.
    "TUNE_GLOBAL_CHECKPOINT_S": "1e9",
}


class RayError(RobustnessError):
    """A Ray cluster that cannot be reached or started."""


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """Environment variables for the length of a block; what the user has set himself stays."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def connected(
    address: str | None = None, cpus: float | None = None, gpus: float | None = None, data_bytes: int = 0
) -> Iterator[None]:
    """Ray for the length of a block: the one this process has, the cluster at `address`, or one started here."""
    with environment(_QUIET):
        if ray.is_initialized():
            yield
            return
        _start(address, cpus, gpus, data_bytes)
        try:
            yield
        finally:
            ray.shutdown()


def cluster(resource: str, otherwise: float = 0.0) -> float:
    """How much of a resource the connected cluster has."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return resources.get(resource, otherwise)


def _check_reachable(address: str) -> None:
    """Raise an OSError at once where nobody listens; Ray itself would try for minutes."""
    if "://" in address:
        raise OSError("give host:port of the head node, or auto; Ray client addresses have no Tune")
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()


def _start(address: str | None, cpus: float | None, gpus: float | None, data_bytes: int) -> None:
    for name in ("ray", "ray.tune", "ray.train"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    quiet: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    at_sigterm = signal.getsignal(signal.SIGTERM)
    try:
        if address:
            _check_reachable(address)
            ray.init(address=address, **quiet)
            return
        ray.init(
            address="local",
            num_cpus=None if cpus is None else math.ceil(cpus),
            num_gpus=None if gpus is None else math.ceil(gpus),
            include_dashboard=False,
            object_store_memory=100 * _MEBIBYTE + 2 * data_bytes,
            **quiet,
        )
    except SystemExit:
        # Ray takes SIGTERM for itself while it starts, and this is what it makes of it.
        ray.shutdown()
        if not callable(at_sigterm):
            raise
        at_sigterm(signal.SIGTERM, None)
        raise StartInterrupted from None
    except Exception as error:
        where = f"the Ray cluster at {address!r} cannot be reached" if address else "Ray cannot be started here"
        raise RayError(f"{where}: {error}") from error
    finally:
        # Whoever started the run decides what SIGTERM means, not Ray.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, at_sigterm)
