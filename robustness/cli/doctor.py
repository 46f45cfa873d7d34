"""`robustness doctor`: check this machine. It must run where packages are missing, so it imports them one by one."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from robustness.cli import DONE, INCOMPLETE
from robustness.errors import StoreError, plural
from robustness.execution.authentication import MODE, has_token, is_open_to_others
from robustness.guards.printable import printable
from robustness.trainables.precision import cpu_features, has_bfloat16

PACKAGES = ("torch", "ray", "optuna", "sqlalchemy", "pandas", "numpy", "scipy", "seaborn", "pydantic", "psycopg")
OPTIONAL = {"psycopg": "needed for a PostgreSQL store: pip install -e '.[postgres]' in the project's folder"}
LEAST_SHARED_MEMORY = 256 * 2**20
MARKS = {"ok": " ", "note": "-", "problem": "!"}


@dataclass(frozen=True)
class Finding:
    """One line of the output."""

    subject: str
    detail: str
    state: Literal["ok", "note", "problem"] = "ok"


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each check; the exit code is 1 if there is a problem."""
    findings = [finding for check in checks(arguments.store) for finding in check()]
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        print(f"{MARKS[finding.state]} {finding.subject:{width}}  {printable(finding.detail)}")
    problems = sum(finding.state == "problem" for finding in findings)
    print(f"{plural(problems, 'problem')} found, marked !" if problems else "no problems found")
    return INCOMPLETE if problems else DONE


def checks(store: str | None) -> list[Callable[[], Iterator[Finding]]]:
    """All checks, in order."""
    return [machine, packages, devices, shared_memory, ray_access, lambda: stores(store)]


def machine() -> Iterator[Finding]:
    """The interpreter, the CPU and the disk."""
    version = platform.python_version()
    yield Finding("python", version, "ok" if sys.version_info >= (3, 11) else "problem")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("CPU", f"{cores} cores, {platform.machine()}, {platform.system()}")
    features = ", ".join(cpu_features())
    yield Finding("bfloat16", f"{features}: `precision: auto` uses it" if features else "not on this CPU: float32 only")
    free = shutil.disk_usage(".").free / 2**30
    yield Finding("disk", f"{free:.1f} GiB free in this folder", "ok" if free > 1 else "problem")


def packages() -> Iterator[Finding]:
    """The versions of the main packages, read without importing them."""
    for name in PACKAGES:
        try:
            yield Finding(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            hint = OPTIONAL.get(name)
            yield Finding(name, f"not installed{f' ({hint})' if hint else ''}", "note" if hint else "problem")


def devices() -> Iterator[Finding]:
    """The devices that torch can train on."""
    try:
        import torch  # may be missing, which is what doctor reports
    except (ImportError, OSError) as error:
        yield Finding("devices", f"torch cannot be imported: {error}", "problem")
        return
    if not torch.cuda.is_available():
        yield Finding("devices", "no GPU: trials run on CPU cores, one thread each", "note")
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        bfloat16 = ", bfloat16" if has_bfloat16(gpu=True) else ""
        yield Finding(f"cuda:{index}", f"{properties.name}, {properties.total_memory / 2**30:.1f} GiB{bfloat16}")


def shared_memory() -> Iterator[Finding]:
    """The shared memory in which Ray keeps the data of its workers."""
    try:
        free = shutil.disk_usage("/dev/shm").free  # noqa: S108 - asked for its size, not written to
    except OSError:
        yield Finding("shared memory", "no /dev/shm: Ray keeps shared data in files, which is slower", "note")
        return
    enough = free >= LEAST_SHARED_MEMORY
    hint = "" if enough else " (in a container, increase it: --shm-size=1g)"
    yield Finding("shared memory", f"{free / 2**30:.2f} GiB free{hint}", "ok" if enough else "problem")


def ray_access() -> Iterator[Finding]:
    """Whether other users could send commands to the Ray of a sweep."""
    mode = os.environ.get(MODE)
    if mode is not None and mode.lower() != "token":
        yield Finding("Ray access", f"{MODE} is {mode!r}: sweeps on this machine are refused; unset it", "problem")
    elif not has_token():
        yield Finding("Ray access", "no token yet: the first sweep makes one")
    elif is_open_to_others():
        yield Finding("Ray access", "other users can read the token: the next sweep withdraws their access", "note")
    else:
        yield Finding("Ray access", "by a token that only this user can read")


def stores(url: str | None) -> Iterator[Finding]:
    """Whether the store, if one is named, can be opened, and how many studies it holds."""
    named = url or os.environ.get("ROBUSTNESS_STORE")
    if not named:
        yield Finding("store", "sqlite:///robustness.db in this folder, unless --store or ROBUSTNESS_STORE is set")
        return
    try:
        from robustness.store import open_store  # its packages may be missing

        with open_store(named, create=False) as store:
            yield Finding("store", f"{len(store.names())} studies")
    except (ImportError, StoreError) as error:
        yield Finding("store", str(error), "problem")
