"""How long commands take before they do their work, including the start of Python.

`plan` and `status` import neither torch nor Ray. A sweep's first trial begins after Ray has started and a worker has
imported torch; the time is from the command to the start that the store records.

python benchmarks/startup.py
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show
from store import command_seconds, imports

MAX_PLAN, MAX_STATUS, MAX_FIRST_TRIAL = 1.5, 0.6, 6.0
SMALL = (
    "task={name: synthetic_fundus, image_size: 16, train: 16, validation: 16, test: 2}",
    "model={name: vgg_small, base_channels: 2, depth: short}",
    "training={epochs: 2, evaluation_samples: 1}",
    "outcomes.learned_nothing={below: 0.6}",
    "sampling.configurations=1",
)
"""The quickstart with next to no work."""


def first_trial(url: str, file: Path) -> float:
    """Seconds from the command to the start of the first trial."""
    settings = [word for setting in SMALL for word in ("--set", setting)]
    begun = time.time()
    line = [sys.executable, "-m", "robustness", "sweep", "quickstart", "--store", url, "--quiet", "--no-report"]
    subprocess.run([*line, *settings], check=True, stdout=subprocess.DEVNULL)
    with closing(sqlite3.connect(file)) as connection:
        (started,) = connection.execute("SELECT MIN(started) FROM robustness_trials").fetchone()
    return float(started) - begun


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "store.db"
        url = f"sqlite:///{file}"
        yield Result("a sweep's first trial", first_trial(url, file), "s", most=MAX_FIRST_TRIAL)
        yield Result("robustness plan quickstart", command_seconds("plan", "quickstart"), "s", most=MAX_PLAN)
        status = ("status", "quickstart", "--store", url)
        yield Result("robustness status quickstart", command_seconds(*status), "s", most=MAX_STATUS)
        for words in (("plan", "quickstart"), status):
            yield Result(f"robustness {words[0]}: imports of torch and Ray", imports(*words), "modules", most=0)


if __name__ == "__main__":
    sys.exit(show(results(), parser(__doc__).parse_args().json))
