"""Provenance of results: package versions, the commit of the code, and the hardware."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any


@cache
def versions() -> dict[str, str]:
    """The version of Python and of every installed package."""
    installed = {distribution.name: distribution.version for distribution in metadata.distributions()}
    return {"python": platform.python_version(), **dict(sorted(installed.items(), key=lambda item: item[0].lower()))}


def git_commit() -> str | None:
    """The commit of the working folder or, if that is not in a repository, of this package's source.

    It ends in a `+` if there are uncommitted changes; None if neither folder is in a repository.
    """
    for folder in (Path.cwd(), Path(__file__).parent):
        commit = _git(folder, "rev-parse", "HEAD")
        if commit is not None:
            return commit + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")
    return None


def _git(folder: Path, *words: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "-C", str(folder), *words]
    try:
        finished = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return finished.stdout.strip()


def hardware() -> dict[str, Any]:
    """The machine that registers a study: system, processor, memory and GPUs."""
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "processor": _line("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory": _line("/proc/meminfo", "MemTotal"),
        "gpus": [
            _line(str(card), "Model") or card.parent.name
            for card in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
        ],
    }


def _line(file: str, label: str) -> str | None:
    """The value of `label: value` in a file of the system."""
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(label)), None)
