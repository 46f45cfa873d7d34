"""Python programs, each run in a process of its own as a reader would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(**further: str) -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if name != "ROBUSTNESS_STORE"}
    # `python` of a command is the one that runs these tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return known | {"PYTHONPATH": str(ROOT), "PATH": path} | further


def run(words: list[str], folder: Path) -> str:
    """What Python prints with these arguments."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
