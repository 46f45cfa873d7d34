"""A training step of MFVI and Radial against the limit and against the packages that a user would pick instead.

The limit is a plain deterministic network's step times the number of samples. All have the same network, batch and
number of samples, Amsgrad, and one thread. The peak of memory is that of a step with four samples, beside the same
network's step with a loop over samples; each in a process of its own.

    python benchmarks/training_step.py [--device cuda]      needs the benchmark extra for the other packages
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from measuring import medians
from results import Result, parser, show
from rivals import PEERS, plain

from robustness.bnn.elbo import nll
from robustness.bnn.models import FULL, SHORT
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.training import Run
from robustness.trial import Trial

DEPTHS = {"short": SHORT, "full": FULL}
MOST_RADIAL, LEAST_OVER_PEERS, MOST_MEMORY = 1.05, {1: 1.0, 4: 1.3}, 1.2


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
        return f"{layers} convolutions, {self.size} px, batch {self.batch}, S = {self.samples}"


CASES = (
    Case("short", 32, 16, 1, 1.15),
    Case("short", 32, 16, 4, 1.15),
    Case("short", 32, 64, 1, 1.15),
    Case("short", 32, 64, 4, 1.15),
    Case("short", 16, 16, 1, 1.6),
    Case("full", 64, 16, 1, 1.15),
    Case("full", 64, 16, 4, 1.15),
    Case("full", 64, 64, 1, 1.15),
)
MEMORY = Case("short", 32, 64, 4, MOST_MEMORY)


def start(case: Case, method: str, device: str, validation: int = 8) -> Run:
    """A trial of this project at its start."""
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
        task={"name": "synthetic_fundus", "image_size": case.size, "train": 64, "validation": validation, "test": 8},
        model={"name": "vgg_small", "base_channels": 16, "depth": case.depth},
        training={"epochs": 2, "evaluation_samples": case.samples, "device": device},
    )
    return Run.start(trial)


def own_step(case: Case, method: str, device: str) -> Callable[[], object]:
    """The step of this project's training loop for an arm."""
    run = start(case, method, device)
    index = torch.arange(case.batch)
    images, labels = run.train_set.batch(index), run.train_set.labels[index.to(device)]
    count = iter(range(10**9))
    return lambda: run.step(images, labels, 2, next(count), False)


def measure(case: Case, seconds: float, device: str, peers: bool = True) -> dict[str, float]:
    """Median seconds of a step of `limit` (one sample), our arms and the other packages, as far as they are there."""
    torch.manual_seed(0)
    images = torch.randn(case.batch, 3, case.size, case.size, device=device)
    labels = torch.arange(case.batch, device=device) % 2
    blocks = [(16 * width, count) for width, count in DEPTHS[case.depth]]
    candidates: dict[str, Callable[[], object]] = {"limit": plain(blocks, images, labels)}
    candidates |= {method: own_step(case, method, device) for method in ("mfvi", "radial")}
    for name, (module, make) in PEERS.items():
        if peers and find_spec(module) is not None:
            candidates[name] = make(blocks, images, labels, case.samples)
    return medians(candidates, seconds, device=device)


def step_results(seconds: float, device: str) -> Iterator[Result]:
    for case in CASES:
        found = measure(case, seconds, device)
        limit = found["limit"] * case.samples
        times = ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in found.items())
        for method in ("mfvi", "radial"):
            note = times if method == "mfvi" else ""
            yield Result(f"{case}: {method} / limit", found[method] / limit, most=case.most, note=note)
        yield Result(f"{case}: radial / mfvi", found["radial"] / found["mfvi"], most=MOST_RADIAL)
        peers = {name: found[name] for name in PEERS if name in found}
        if peers:
            fastest = min(peers, key=lambda name: peers[name])
            least = LEAST_OVER_PEERS[case.samples]
            yield Result(f"{case}: {fastest}, the fastest package, / mfvi", peers[fastest] / found["mfvi"], least=least)


def peak(how: str, device: str) -> float:
    """The bytes that a step takes beyond what was there before it."""
    run = start(MEMORY, "radial", device)
    index = torch.arange(MEMORY.batch)
    images, labels = run.train_set.batch(index), run.train_set.labels[index.to(device)]

    def loop() -> None:
        """Sample by sample, each with its backward pass, as one writes it by hand to save memory."""
        (network,) = run.ensemble.members
        run.optimizer.zero_grad()
        for sample in range(MEMORY.samples):
            draws = network.sample(1, StreamNoise(run.streams, (2, sample), device=device))
            (nll(network.logits(images, draws), labels) / MEMORY.samples).backward()  # type: ignore[no-untyped-call]
        run.optimizer.step()

    step = loop if how == "loop" else lambda: run.step(images, labels, 2, 0, False)
    if device != "cpu":
        step()
        torch.cuda.reset_peak_memory_stats()
        before = float(torch.cuda.memory_allocated())
        step()
        return torch.cuda.max_memory_allocated() - before
    run.step(images[:1], labels[:1], 2, 0, False)
    # Forget the peak that importing left behind.
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    for _ in range(5):
        step()
    return resident("VmHWM") - before


def resident(name: str) -> float:
    """The bytes of memory that this process has (`VmRSS`) or had at most (`VmHWM`); Linux knows."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * float(line.split()[1]) for line in lines if line.startswith(name))


def memory_results(device: str) -> Iterator[Result]:
    found = {}
    for how in ("step", "loop"):
        command = [sys.executable, __file__, "--peak", how, "--device", device]
        found[how] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    note = ", ".join(f"{name} {value / 1e6:.0f} MB" for name, value in found.items())
    yield Result(f"{MEMORY}: memory / loop over samples", found["step"] / found["loop"], most=MOST_MEMORY, note=note)


def results(seconds: float, device: str) -> Iterator[Result]:
    yield from step_results(seconds, device)
    yield from memory_results(device)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=10.0, help="how long each case is measured")
    options.add_argument("--device", default="cpu", help="cpu or cuda")
    options.add_argument("--peak", help="print the memory of a `step` or of a `loop`, nothing else")
    arguments = options.parse_args()
    torch.set_num_threads(1)
    if arguments.peak:
        print(json.dumps(peak(arguments.peak, arguments.device)))
        return 0
    return show(results(arguments.seconds, arguments.device), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
