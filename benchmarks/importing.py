"""Time and memory of `robustness import` for a table with one row for each epoch.

The command runs in a process of its own; its CPU time and its largest memory are measured, imports included.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show

EPOCHS, SEEDS, ARMS = 50, 4, ("a", "b")


def write_table(path: Path, rows: int) -> int:
    """Write a table of about so many epochs and return their number."""
    generator = np.random.default_rng(0)
    configurations = max(1, rows // (EPOCHS * SEEDS * len(ARMS)))
    with path.open("w", encoding="utf-8") as file:
        file.write("arm,learning_rate,batch_size,seed,epoch,train_loss,validation_accuracy\n")
        for _ in range(configurations):
            rate, batch = 10 ** generator.uniform(-5, -1), int(2 ** generator.integers(4, 9))
            for arm in ARMS:
                for seed in range(SEEDS):
                    values = generator.random(EPOCHS)
                    file.writelines(
                        f"{arm},{rate!r},{batch},{seed},{epoch},{2 * value:.6f},{value:.6f}\n"
                        for epoch, value in enumerate(values, start=1)
                    )
    return configurations * EPOCHS * SEEDS * len(ARMS)


def measure(rows: int) -> Iterator[Result]:
    """The import of one table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "epochs.csv"
        written = write_table(path, rows)
        words = ["import", str(path), "--study", "epochs", "--metric", "validation_accuracy"]
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "robustness", *words, "--store", f"sqlite:///{folder}/epochs.db"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield Result(f"import of {written:,} epochs, CPU time", used.ru_utime + used.ru_stime, "s", most=60)
    yield Result(f"import of {written:,} epochs, elapsed", seconds, "s", most=60)
    yield Result(f"import of {written:,} epochs, memory", used.ru_maxrss / 1024, "MB", most=1000)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--rows", type=int, default=1_000_000, metavar="N")
    arguments = options.parse_args()
    return show(measure(arguments.rows), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
