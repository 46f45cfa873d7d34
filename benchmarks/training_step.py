"""A training step of MFVI and Radial against the limit and against the packages that a user would pick instead.

The limit is a plain deterministic network's step times the number of samples. All have the same network, batch and
number of samples, Amsgrad, and one thread.

    python benchmarks/training_step.py              prints the ratios; with --peers against the other packages as well
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from measuring import medians
from rivals import PEERS, plain

from robustness.bnn.models import FULL, SHORT
from robustness.training import Run
from robustness.trial import Trial

DEPTHS = {"short": SHORT, "full": FULL}


@dataclass(frozen=True)
class Case:
    """One network, batch and number of samples, and how far above the limit a step may lie."""

    depth: str
    size: int
    batch: int
    samples: int
    most: float

    def __str__(self) -> str:
        layers = sum(count for _, count in DEPTHS[self.depth])
        return f"VGG of {layers} convolutions, {self.size} px, batch {self.batch}, {self.samples} sample(s)"


CASES = (
    Case("short", 32, 16, 1, 1.15),
    Case("short", 32, 16, 4, 1.15),
    Case("short", 32, 64, 1, 1.15),
    Case("short", 32, 64, 4, 1.15),
    Case("short", 16, 16, 1, 1.6),
    Case("full", 64, 16, 1, 1.15),
    Case("full", 64, 16, 4, 1.15),
)


def own_step(case: Case, method: str) -> Callable[[], object]:
    """The step of this project's training loop for an arm."""
    trial = Trial(
        study="training_step",
        seed=0,
        configuration=0,
        arm=method,
        method=method,
        hyperparameters={
            "optimizer": "amsgrad",
            "learning_rate": 1e-4,
            "batch_size": case.batch,
            "variational_samples": case.samples,
            "initial_rho": -6.0,
        },
        task={"name": "synthetic_fundus", "image_size": case.size, "train": 64, "validation": 8, "test": 8},
        model={"name": "vgg_small", "base_channels": 16, "depth": case.depth},
        training={"epochs": 2},
    )
    run = Run.start(trial)
    index = torch.arange(case.batch)
    images, labels = run.train_set.batch(index), run.train_set.labels[index]
    count = iter(range(10**9))
    return lambda: run.step(images, labels, 2, next(count), False)


def measure(case: Case, peers: bool, seconds: float) -> dict[str, float]:
    """Median seconds of a step of `limit` (one sample), `mfvi`, `radial` and, if asked for, the peers."""
    torch.manual_seed(0)
    images = torch.randn(case.batch, 3, case.size, case.size)
    labels = torch.arange(case.batch) % 2
    blocks = [(16 * width, count) for width, count in DEPTHS[case.depth]]
    candidates: dict[str, Callable[[], object]] = {"limit": plain(blocks, images, labels)}
    candidates |= {method: own_step(case, method) for method in ("mfvi", "radial")}
    if peers:
        candidates |= {name: make(blocks, images, labels, case.samples) for name, make in PEERS.items()}
    return medians(candidates, seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description="Training steps as ratios.")
    parser.add_argument("--peers", action="store_true", help="measure the other packages, too (the benchmark extra)")
    parser.add_argument("--seconds", type=float, default=12.0, help="how long each case is measured")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    missed = 0
    for case in CASES:
        found = measure(case, arguments.peers, arguments.seconds)
        limit = found["limit"] * case.samples
        print(f"{case}: the limit is {1000 * limit:.1f} ms")
        for name, seconds in found.items():
            if name != "limit":
                print(f"  {name:15s} {1000 * seconds:7.1f} ms  {seconds / limit:.2f} x the limit")
        missed += found["mfvi"] > case.most * limit
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
