"""The short form of benchmarks/importing.py: a twentieth of its million epochs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_fifty_thousand_epochs_take_a_fraction_of_the_time_and_memory_of_a_million() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "importing.py"), "--rows", "50000", "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=ROOT,
    )
    figures = {result["name"].rpartition(", ")[2]: result["value"] for result in json.loads(done.stdout)}
    # A million take ten seconds of CPU time, of which two are for loading packages.
    assert figures["CPU time"] < 6
    assert figures["memory"] < 500
