"""What holds on a GPU: one script for a machine with GPUs, less than ten minutes.

Prints a line for each check, whether it holds, and writes all of it as JSON: training steps against a plain network,
bfloat16, determinism, pairing, agreement with the CPU, a real out-of-memory error as an outcome, trials that share a
GPU, and trials on two GPUs. A check that needs more GPUs than there are is skipped and says so.

python benchmarks/gpu.py --out gpu.json              needs a GPU
python benchmarks/gpu.py --out cpu.json --dry-run    the same checks on a CPU, as far as they make sense there
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

import training_step
from measuring import medians

from robustness.execution.protocol import Ending, Executor, Share, Started, Terms
from robustness.execution.tune import TuneExecutor
from robustness.streams import Streams
from robustness.testing.running import numbers, run
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.training import Run
from robustness.trainables.precision import has_bfloat16
from robustness.trial import EpochResult, Trial, TrialKey

CASES = (
    training_step.Case("short", 32, 16, 1, 1.5),
    training_step.Case("short", 32, 64, 4, 1.5),
    training_step.Case("full", 64, 64, 1, 1.5),
)
DRY_CASES = (training_step.Case("short", 16, 16, 1, 2.5),)
TOLERANCE = 2e-3
"""Relative difference between the losses of a CPU and a GPU after two epochs that counts as rounding."""
BUSY_SECONDS = 3.0


@dataclass(frozen=True)
class Check:
    """One line of the output."""

    name: str
    holds: bool | None
    """None if it was skipped, or only measured."""
    detail: str = ""
    figures: dict[str, float] = field(default_factory=dict)


def too_large(trial: Trial) -> Iterator[EpochResult]:
    """A trainable that asks for 140 TB on its device, which no machine has."""
    torch.empty(2**45, device=str(trial.training["device"]))
    yield EpochResult(1, {trial.metric: 1.0})


def busy(trial: Trial) -> Iterator[EpochResult]:
    """A trainable that multiplies matrices on its GPU for a few seconds."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    matrix = torch.rand(512, 512, device=device)
    begun = time.time()
    while time.time() - begun < BUSY_SECONDS:
        matrix = (matrix @ matrix).clamp(0, 1)
    yield EpochResult(1, {trial.metric: float(matrix[0, 0]), "begun": begun, "ended": time.time()})


def small_trial(method: str, device: str, **training: object) -> Trial:
    """A trial of two epochs on small images."""
    return Trial(
        study="gpu",
        seed=1,
        configuration=0,
        arm=method,
        method=method,
        hyperparameters={
            "optimizer": "amsgrad",
            "learning_rate": 1e-3,
            "batch_size": 16,
            "variational_samples": 2,
            "initial_rho": -4.0,
        },
        task={"name": "synthetic_fundus", "image_size": 16, "train": 64, "validation": 64, "test": 8},
        model={"name": "vgg_small", "base_channels": 8, "depth": "short"},
        training={"epochs": 2, "evaluation_samples": 2, "device": device, **training},
        metric="validation_auc",
    )


def steps(device: str, dry: bool, seconds: float) -> Iterator[Check]:
    """Training steps of both arms against a plain network, in float32 and in bfloat16."""
    for case in DRY_CASES if dry else CASES:
        times = training_step.measure(case, seconds, device, peers=False)
        limit = times["limit"] * case.samples
        for method in ("mfvi", "radial"):
            ratio = times[method] / limit
            figures = {"step_ms": 1000 * times[method], "limit_ms": 1000 * limit, "ratio": ratio}
            yield Check(f"step: {case}: {method}", ratio <= case.most, f"{ratio:.2f} x the limit", figures)
        if has_bfloat16(device != "cpu"):
            candidates = {
                name: training_step.own_step(case, "mfvi", device, precision=name) for name in ("float32", "bfloat16")
            }
            times = medians(candidates, seconds, device=device)
            gain = times["float32"] / times["bfloat16"]
            yield Check(f"bfloat16: {case}", None, f"{gain:.2f} x as fast as float32", {"gain": gain})


def precision(device: str) -> Iterator[Check]:
    """bfloat16 trains to losses close to those of float32."""
    if not has_bfloat16(device != "cpu"):
        yield Check("bfloat16: losses", None, "skipped: this device does not compute in bfloat16")
        return
    losses = {name: _losses(small_trial("mfvi", device, precision=name)) for name in ("float32", "bfloat16")}
    gap = _gap(losses["float32"], losses["bfloat16"])
    yield Check("bfloat16: losses close to those of float32", gap < 0.05, f"largest difference {gap:.2%}", {"gap": gap})


def determinism(device: str) -> Iterator[Check]:
    """With `deterministic: true` a trial has the same numbers twice."""
    for method in ("mfvi", "radial", "mc_dropout"):
        trial = small_trial(method, device, deterministic=True)
        try:
            same = numbers(trial) == numbers(trial)
            yield Check(f"determinism: {method} twice", same, "equal to the byte" if same else "numbers differ")
        except AssertionError as error:
            yield Check(f"determinism: {method} twice", False, str(error))


def pairing(device: str) -> Iterator[Check]:
    """The arms of a pair have the same initial means, batches and base noise on the device."""
    runs = [Run.start(small_trial(method, device)) for method in ("mfvi", "radial")]
    noise = StreamNoise(Streams(1, 0), (2, 0), device=device)
    drawn = [each.ensemble.members[0].posteriors()[0].base_noise(1, noise, 0) for each in runs]  # type: ignore[operator]
    means = [each.ensemble.members[0].posteriors()[0].mean for each in runs]
    images = [each.train_set.batch(torch.arange(16), each.streams.torch("augmentation", 1, 0)).cpu() for each in runs]
    same = all(torch.equal(first, second) for first, second in (drawn, means, images))
    yield Check("pairing: means, images and noise of both arms", same)


def agreement(device: str) -> Iterator[Check]:
    """A paired mini-sweep agrees with the CPU's within rounding, where both draw the same numbers.

    Generators of a GPU draw other numbers than those of a CPU, so weight noise differs; initialisation, batches and
    augmentation do not. A deterministic arm therefore agrees in every epoch, a Bayesian one in pre-training.
    """
    for method, epochs in (("deterministic", 2), ("mfvi", 1), ("radial", 1)):
        here, there = (_losses(small_trial(method, each))[:epochs] for each in (device, "cpu"))
        gap = _gap(here, there)
        detail = f"largest difference {gap:.2e}"
        yield Check(f"agreement with the CPU: {method}", gap <= TOLERANCE, detail, {"gap": gap})


def out_of_memory(device: str) -> Iterator[Check]:
    """A real out-of-memory error is an outcome, and the next trial runs."""
    _, ending = run(replace(small_trial("mfvi", device), trainable="gpu:too_large"))
    yield Check("out of memory is an outcome", ending.status == "out_of_memory", _last_line(ending))
    _, ending = run(small_trial("mfvi", device))
    yield Check("the trial after it", ending.status == "finished", _last_line(ending))


class Observed:
    """Where and when trials ran."""

    def __init__(self) -> None:
        self.device: dict[TrialKey, str] = {}
        self.span: dict[TrialKey, tuple[float, float]] = {}
        self.endings: list[Ending] = []

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:  # noqa: ARG002
        self.device[key] = where.device

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self.span[key] = (result.measures["begun"], result.measures["ended"])

    def ended(self, key: TrialKey, ending: Ending) -> None:  # noqa: ARG002
        self.endings.append(ending)

    def overlap(self) -> float:
        """The longest time that two trials ran together, in seconds."""
        spans = list(self.span.values())
        pairs = [(a, b) for place, a in enumerate(spans) for b in spans[place + 1 :]]
        return max((min(a[1], b[1]) - max(a[0], b[0]) for a, b in pairs), default=0.0)


def together(share: float, executor: Executor) -> Observed:
    """Run two busy trials with this share of a GPU each."""
    trials = (replace(small_trial("mfvi", "auto"), trainable="gpu:busy", configuration=n) for n in range(2))
    observed = Observed()
    executor.run(trials, observed, Terms(share=lambda _: Share(1, share)), lambda: False)
    return observed


def sharing(gpus: int) -> Iterator[Check]:
    """Two trials on halves of one GPU, and two trials on two GPUs, at the same time."""
    for name, share, needed in (("two trials on one GPU", 0.5, 1), ("two trials on two GPUs", 1.0, 2)):
        if gpus < needed:
            yield Check(name, None, f"skipped: needs {needed} GPU(s), found {gpus}")
            continue
        seen = together(share, TuneExecutor(gpus=needed))
        devices = sorted(set(seen.device.values()))
        finished = len(seen.endings) == 2 and all(ending.status == "finished" for ending in seen.endings)
        holds = finished and len(devices) == needed and seen.overlap() > 0
        yield Check(name, holds, f"on {', '.join(devices)}, together for {seen.overlap():.1f} s")


def checks(device: str, dry: bool, seconds: float) -> Iterator[Check]:
    gpus = torch.cuda.device_count()
    groups: Sequence[Callable[[], Iterator[Check]]] = (
        lambda: steps(device, dry, seconds),
        lambda: precision(device),
        lambda: determinism(device),
        lambda: pairing(device),
        lambda: agreement(device),
        lambda: out_of_memory(device),
        lambda: sharing(gpus),
    )
    for group in groups:
        try:
            yield from group()
        except Exception as error:  # One broken check must not hide the others.
            yield Check(f"unexpected {type(error).__name__}", False, str(error).splitlines()[0] if str(error) else "")


def _last_line(ending: Ending) -> str:
    return (ending.error or ending.status).strip().splitlines()[-1]


def _losses(trial: Trial) -> list[float]:
    return [measures["loss"] for _, _, measures, _ in numbers(trial)]


def _gap(first: Sequence[float], second: Sequence[float]) -> float:
    """The largest relative difference."""
    return max(abs(a - b) / abs(b) for a, b in zip(first, second, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("gpu.json"), help="output file")
    parser.add_argument("--seconds", type=float, default=5.0, help="measuring time per case")
    parser.add_argument("--dry-run", action="store_true", help="run on a CPU what makes sense there")
    arguments = parser.parse_args()
    if not arguments.dry_run and not torch.cuda.is_available():
        print("no GPU: torch.cuda.is_available() is false; --dry-run runs the checks on a CPU", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    # Workers import the trainables above.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    device = "cpu" if arguments.dry_run else "cuda"
    name = "CPU" if arguments.dry_run else torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, {torch.cuda.device_count()} GPU(s)")
    found = []
    for check in checks(device, arguments.dry_run, arguments.seconds):
        found.append(check)
        mark = {True: "holds", False: "DOES NOT HOLD", None: "-"}[check.holds]
        print(f"{mark:14s} {check.name:72s} {check.detail}".rstrip(), flush=True)
    failed = sum(check.holds is False for check in found)
    print(f"{sum(check.holds is True for check in found)} hold, {failed} do not")
    document = {"device": name, "torch": torch.__version__, "checks": [asdict(check) for check in found]}
    arguments.out.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
