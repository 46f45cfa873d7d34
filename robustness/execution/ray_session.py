"""Ray with its output silenced: a connection to a running cluster, or a local Ray started and stopped for one run."""

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
    # Resuming never relies on Tune's own state.
    "TUNE_GLOBAL_CHECKPOINT_S": "1e9",
}


class RayError(RobustnessError):
    """A Ray cluster cannot be reached or started."""


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables within the block; variables that are already set keep their values."""
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
    """Connect to Ray within the block: this process's own session, the cluster at `address`, or a new local Ray."""
    with environment(_QUIET):
        if ray.is_initialized():
            yield
            return
        _start(address, cpus, gpus, data_bytes)
        try:
            yield
        finally:
            ray.shutdown()


def cluster(resource: str, default: float = 0.0) -> float:
    """Return the connected cluster's amount of a resource."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return resources.get(resource, default)


def _check_reachable(address: str) -> None:
    """Raise an OSError at once if nothing listens at the address; Ray itself would retry for minutes."""
    if "://" in address:
        raise OSError("use host:port of the head node, or auto; Ray Tune does not run through a Ray client address")
    host, _, port = address.rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()


def _start(address: str | None, cpus: float | None, gpus: float | None, data_bytes: int) -> None:
    for name in ("ray", "ray.tune", "ray.train"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    quiet: dict[str, Any] = {"logging_level": logging.CRITICAL, "log_to_driver": False}
    sigterm_handler = signal.getsignal(signal.SIGTERM)
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
        # While Ray starts, it handles SIGTERM itself by raising SystemExit.
        ray.shutdown()
        if not callable(sigterm_handler):
            raise
        sigterm_handler(signal.SIGTERM, None)
        raise StartInterrupted from None
    except Exception as error:
        where = f"the Ray cluster at {address!r} cannot be reached" if address else "Ray cannot be started here"
        raise RayError(f"{where}: {error}") from error
    finally:
        # The caller decides how SIGTERM is handled, not Ray.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, sigterm_handler)
