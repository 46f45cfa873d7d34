"""Ray with its output silenced: a connection to a running cluster, or a local Ray started and stopped for one run.

A local Ray listens on the loopback interface only and demands a token. A cluster's token is passed on.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray import _raylet as raylet
from ray._private import auto_init_hook, ray_constants, services
from ray.exceptions import AuthenticationError

from robustness.execution import background
from robustness.execution.authentication import MODE, RayError, has_token, local_token, refuse_open_mode
from robustness.execution.isolation import kill, start_of, with_descendants
from robustness.execution.protocol import StartInterrupted
from robustness.execution.wording import error_line

compiled: Any = raylet
_MEBIBYTE = 1 << 20
CONNECT_SECONDS = 5.0
SHUTDOWN_SECONDS = 10.0
"""How long Ray may take to shut down; without its processes it might wait for minutes."""

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
_LOCAL = {
    # Ray's own switch for loopback; it is on by default where Ray supports no clusters.
    ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR: "0",
    # What trials print goes to files, which must not fill the disk.
    "RAY_ROTATION_MAX_BYTES": str(64 * _MEBIBYTE),
    "RAY_ROTATION_BACKUP_COUNT": "1",
    # The child processes of a worker end with it.
    "RAY_process_group_cleanup_enabled": "1",
}


def no_warning(_line: str) -> None:
    """The `warn` of a caller that shows no warnings."""


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
    address: str | None = None,
    cpus: float | None = None,
    gpus: float | None = None,
    data_bytes: int = 0,
    warn: Callable[[str], None] = no_warning,
) -> Iterator[None]:
    """Connect to Ray within the block: this process's own session, the cluster at `address`, or a new local Ray."""
    with environment(_QUIET):
        if ray.is_initialized():
            yield
            return
        with _started_by_us_alone(), _cluster_access(address, warn) if address else _closed_to_others():
            _start(address, cpus, gpus, data_bytes)
            try:
                yield
            finally:
                _shut_down()


@contextmanager
def _started_by_us_alone() -> Iterator[None]:
    """Keep calls to Ray from starting it where it does not run.

    Tune, abandoned in its thread, calls Ray after its end; that would start a Ray that is open to other machines. Where
    such a thread is left, this holds for the rest of the process.
    """
    before = auto_init_hook.enable_auto_connect
    auto_init_hook.enable_auto_connect = False
    try:
        yield
    finally:
        if not background.is_left():
            auto_init_hook.enable_auto_connect = before


def cluster(resource: str, default: float = 0.0) -> float:
    """Return the connected cluster's amount of a resource."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return resources.get(resource, default)


@contextmanager
def _closed_to_others() -> Iterator[None]:
    """Let a Ray that is started within the block listen on loopback only, and demand a token."""
    refuse_open_mode()
    before = ray_constants.ENABLE_RAY_CLUSTER
    with environment({MODE: "token", **local_token()}), environment(_LOCAL):
        _read_authentication_again()
        ray_constants.ENABLE_RAY_CLUSTER = False
        try:
            yield
        finally:
            ray_constants.ENABLE_RAY_CLUSTER = before
    _read_authentication_again()


def check_cluster(address: str) -> None:
    """Raise RayError at once if no cluster listens at the address, or if `auto` finds none."""
    with _reaching(address):
        found = services.get_ray_address_from_environment(address, None) if address == "auto" else address
        _check_reachable(str(found))


@contextmanager
def _reaching(address: str) -> Iterator[None]:
    """Turn the errors of a cluster that does not answer into one line."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        why = str(error).partition(". ")[0]
        raise RayError(
            f"the Ray cluster at {address!r} cannot be reached: {why}; start it with `ray start --head`, or leave out "
            "--ray-address to use this machine"
        ) from error


@contextmanager
def _cluster_access(address: str, warn: Callable[[str], None]) -> Iterator[None]:
    """Pass the user's token to a cluster that demands one; warn about a cluster that does not."""
    where = f"the Ray cluster at {address!r}"
    with _reaching(address):
        _check_reachable(address)
        demanded = _demands_token(address)
    if demanded and not has_token():
        raise RayError(
            f"{where} demands a token: set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to a file that holds the token"
        )
    if demanded is False:
        warn(f"{where} has no token: anyone who can reach it can run code on it (see docs/clusters.md)")
    with environment({MODE: "token"} if demanded else {}):
        _read_authentication_again()
        if demanded and _refuses(address):
            raise RayError(f"{where} refuses the token of this user")
        yield
    _read_authentication_again()


def _demands_token(address: str) -> bool | None:
    """Whether the cluster refuses a client without a token; None if only Ray can find its address."""
    if ":" not in address:
        return None
    with _replaced(MODE, "disabled"):
        return _refuses(address)


def _refuses(address: str) -> bool:
    try:
        compiled.GcsClient(address=address)
    except AuthenticationError:
        return True
    return False


@contextmanager
def _replaced(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    _read_authentication_again()
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
        _read_authentication_again()


def _read_authentication_again() -> None:
    """Let Ray's compiled part read the mode and the token from the environment again."""
    compiled.Config.initialize("")
    compiled.AuthenticationTokenLoader.instance().reset_cache()


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
        raise RayError(f"{where}: {error_line(error)}") from error
    finally:
        # The caller decides how SIGTERM is handled, not Ray.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, sigterm_handler)


def _shut_down() -> None:
    """Leave Ray; the processes of a local one end in any case."""
    node: Any = ray._private.worker._global_node
    started = [] if node is None else [each.process.pid for kind in node.all_processes.values() for each in kind]
    # Ray's agents would outlive a lost head by a minute.
    processes = {process: start_of(process) for process in with_descendants(started)}
    thread = threading.Thread(target=ray.shutdown, name="ray-shutdown", daemon=True)
    thread.start()
    thread.join(SHUTDOWN_SECONDS)
    kill(process for process, start in processes.items() if start is not None and start_of(process) == start)
