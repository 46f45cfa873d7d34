"""`robustness doctor`: what this machine has, and what is wrong with it."""

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

PACKAGES = ("torch", "ray", "optuna", "sqlalchemy", "pandas", "numpy", "scipy", "seaborn", "pydantic", "psycopg")
OPTIONAL = {"psycopg": "needed for a PostgreSQL store: pip install 'robustness-study[postgres]'"}
LITTLE_SHARED_MEMORY = 256 * 2**20


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's answer."""

    what: str
    found: str
    state: Literal["ok", "note", "wrong"] = "ok"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the command."""
    parser.add_argument("--store", metavar="URL", help="a store to look at too (default: ROBUSTNESS_STORE)")


def run(arguments: argparse.Namespace) -> int:
    """Print a line for everything looked at; 1 if something is wrong."""
    findings = [finding for check in checks(arguments.store) for finding in check()]
    width = max(len(finding.what) for finding in findings)
    marks = {"ok": " ", "note": "-", "wrong": "!"}
    for finding in findings:
        print(f"{marks[finding.state]} {finding.what:{width}}  {finding.found}")
    wrong = [finding for finding in findings if finding.state == "wrong"]
    print(f"{len(wrong)} thing(s) to mend, marked !" if wrong else "nothing is wrong")
    return 1 if wrong else 0


def checks(store: str | None) -> list[Callable[[], Iterator[Finding]]]:
    """What is looked at, in order."""
    return [machine, packages, devices, shared_memory, lambda: stores(store)]


def machine() -> Iterator[Finding]:
    """The interpreter and the processor."""
    version = platform.python_version()
    yield Finding("python", version, "ok" if sys.version_info >= (3, 11) else "wrong")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("processor", f"{cores} cores, {platform.machine()}, {platform.system()}")
    free = shutil.disk_usage(".").free / 2**30
    yield Finding("disk", f"{free:.1f} GiB free here", "ok" if free > 1 else "wrong")


def packages() -> Iterator[Finding]:
    """The versions of what the project builds on, read without importing it."""
    for name in PACKAGES:
        try:
            yield Finding(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            hint = OPTIONAL.get(name)
            yield Finding(name, f"not installed{f' ({hint})' if hint else ''}", "note" if hint else "wrong")


def devices() -> Iterator[Finding]:
    """The devices that torch can train on."""
    try:
        import torch
    except (ImportError, OSError) as error:
        yield Finding("devices", f"torch cannot be imported: {error}", "wrong")
        return
    if not torch.cuda.is_available():
        yield Finding("devices", "no GPU: trials run on CPU cores, one thread each", "note")
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        yield Finding(f"cuda:{index}", f"{properties.name}, {properties.total_memory / 2**30:.1f} GiB")


def shared_memory() -> Iterator[Finding]:
    """Where Ray keeps data that its workers share."""
    try:
        free = shutil.disk_usage("/dev/shm").free  # noqa: S108 - asked for its size, not written to
    except OSError:
        yield Finding("shared memory", "no /dev/shm: Ray keeps shared data in files, which is slower", "note")
        return
    enough = free >= LITTLE_SHARED_MEMORY
    hint = "" if enough else " (in a container, give it more: --shm-size=1g)"
    yield Finding("shared memory", f"{free / 2**30:.2f} GiB free{hint}", "ok" if enough else "wrong")


def stores(url: str | None) -> Iterator[Finding]:
    """The store, if one is named: whether it opens, and what it holds."""
    from robustness.errors import StoreError
    from robustness.store import open_store

    asked = url or os.environ.get("ROBUSTNESS_STORE")
    if not asked:
        yield Finding("store", "sqlite:///robustness.db here, unless --store or ROBUSTNESS_STORE names another")
        return
    try:
        with open_store(asked, create=False) as store:
            yield Finding("store", f"{len(store.names())} studies")
    except StoreError as error:
        yield Finding("store", str(error), "wrong")
