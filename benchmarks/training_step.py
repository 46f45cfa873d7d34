"""A training step of MFVI and Radial, compared with the limit and with alternative packages.

The limit is the step of a plain deterministic network times the number of samples. All use the same network, batch,
number of samples, Amsgrad, and one thread. Peak memory is that of a step with four samples, compared with a loop over
samples for the same network, each in a separate process.

    python benchmarks/training_step.py [--device cuda]      the other packages are compared if installed
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
MAX_RADIAL, MIN_OVER_PEERS, MAX_MEMORY = 1.05, {1: 1.0, 4: 1.3}, 1.2


@dataclass(frozen=True)
class Case:
    """A network, batch size and number of samples, and the maximum ratio of a step to the limit."""

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
MEMORY = Case("short", 32, 64, 4, MAX_MEMORY)


def start(case: Case, method: str, device: str, validation: int = 8, precision: str = "float32") -> Run:
    """Start a trial of this project."""
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
        training={"epochs": 2, "evaluation_samples": case.samples, "device": device, "precision": precision},
    )
    return Run.start(trial)


def own_step(case: Case, method: str, device: str, precision: str = "float32") -> Callable[[], object]:
    """Step of this project's training loop for an arm."""
    run = start(case, method, device, precision=precision)
    index = torch.arange(case.batch)
    images, labels = run.train_set.batch(index), run.train_set.labels[index.to(device)]
    count = iter(range(10**9))
    return lambda: run.step(images, labels, 2, next(count), False)


def measure(case: Case, seconds: float, device: str, peers: bool = True) -> dict[str, float]:
    """Median seconds of a step of `limit` (one sample), our arms, and the other packages that are installed."""
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
        steps = measure(case, seconds, device)
        limit = steps["limit"] * case.samples
        times = ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in steps.items())
        for method in ("mfvi", "radial"):
            note = times if method == "mfvi" else ""
            yield Result(f"{case}: {method} / limit", steps[method] / limit, most=case.most, note=note)
        yield Result(f"{case}: radial / mfvi", steps["radial"] / steps["mfvi"], most=MAX_RADIAL)
        peers = {name: steps[name] for name in PEERS if name in steps}
        if peers:
            fastest = min(peers, key=lambda name: peers[name])
            least = MIN_OVER_PEERS[case.samples]
            yield Result(f"{case}: {fastest}, the fastest package, / mfvi", peers[fastest] / steps["mfvi"], least=least)


def peak(how: str, device: str) -> float:
    """Additional bytes of memory that a step needs."""
    run = start(MEMORY, "radial", device)
    index = torch.arange(MEMORY.batch)
    images, labels = run.train_set.batch(index), run.train_set.labels[index.to(device)]

    def loop() -> None:
        """One sample at a time with its own backward pass, as one would write it by hand to save memory."""
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
    # Reset the peak left over from imports.
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    for _ in range(5):
        step()
    return resident("VmHWM") - before


def resident(name: str) -> float:
    """Current (`VmRSS`) or peak (`VmHWM`) memory of this process in bytes; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * float(line.split()[1]) for line in lines if line.startswith(name))


def memory_results(device: str) -> Iterator[Result]:
    peaks = {}
    for how in ("step", "loop"):
        command = [sys.executable, __file__, "--peak", how, "--device", device]
        peaks[how] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    note = ", ".join(f"{name} {value / 1e6:.0f} MB" for name, value in peaks.items())
    yield Result(f"{MEMORY}: memory / loop over samples", peaks["step"] / peaks["loop"], most=MAX_MEMORY, note=note)


def results(seconds: float, device: str) -> Iterator[Result]:
    yield from step_results(seconds, device)
    yield from memory_results(device)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=10.0, help="measuring time per case")
    options.add_argument("--device", default="cpu", help="cpu or cuda")
    options.add_argument("--peak", help="only print the memory of a `step` or a `loop`")
    arguments = options.parse_args()
    torch.set_num_threads(1)
    if arguments.peak:
        print(json.dumps(peak(arguments.peak, arguments.device)))
        return 0
    return show(results(arguments.seconds, arguments.device), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
