"""What a sweep costs beside training: 200 empty trials through Ray Tune and the store, on 2 workers.

python benchmarks/sweep_overhead.py          prints seconds a trial, beyond Ray's start; the aim is below 0.15
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))

from robustness.execution.connection import connected
from robustness.execution.tune import TuneExecutor
from robustness.plan import make_plan
from robustness.store import open_store
from robustness.study import load_study
from robustness.sweep import sweep

AIM = 0.15


def main() -> int:
    parser = argparse.ArgumentParser(description="The cost of an empty trial.")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    document = {
        "name": "empty",
        "trainable": "simulated_trials:empty",
        "arms": ["first", "second"],
        "space": {"rate": {"low": 0.0, "high": 1.0}},
        "sampling": {"configurations": arguments.trials // 2},
        "outcomes": {"learned_nothing": {"below": 0.4}, "good": {"at_least": 0.8}},
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.yaml"
        path.write_text(yaml.safe_dump(document))
        study = load_study(str(path))
        plan = make_plan(study)
        with open_store(f"sqlite:///{folder}/store.db") as store, connected(cpus=arguments.workers):
            registered = store.register(study, plan)
            start = time.perf_counter()
            swept = sweep(study, plan, registered, TuneExecutor(arguments.workers))
            seconds = time.perf_counter() - start
    each = seconds / swept.run
    print(f"{swept.run} empty trials in {seconds:.1f} s: {each:.3f} s each (aim: below {AIM})")
    return 0 if each < AIM else 1


if __name__ == "__main__":
    sys.exit(main())
