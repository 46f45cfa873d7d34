"""Overhead around the arithmetic of training: evaluation vs bare forward passes, image loading vs a training step.

python benchmarks/evaluation.py [--device cuda]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from measuring import medians
from results import Result, parser, show
from rivals import bare_network
from training_step import DEPTHS, Case, start

MAX_EVALUATION, MAX_LOADING = 1.1, 0.1
EVALUATED = (Case("short", 32, 64, 4, MAX_EVALUATION), Case("full", 64, 64, 4, MAX_EVALUATION))
LOADED = (Case("short", 32, 16, 1, MAX_LOADING), Case("short", 32, 64, 1, MAX_LOADING), Case("full", 64, 16, 1, 0.1))
IMAGES = 256


def evaluation_results(seconds: float, device: str) -> Iterator[Result]:
    for case in EVALUATED:
        run = start(case, "radial", device, validation=IMAGES)
        model = bare_network([(16 * width, count) for width, count in DEPTHS[case.depth]], device)
        size = run.options.evaluation_batch_size
        batches = [run.validation_set.batch(slice(first, first + size)) for first in range(0, IMAGES, size)]

        @torch.inference_mode()
        def bare(
            model: torch.nn.Module = model, batches: list[torch.Tensor] = batches, draws: int = case.samples
        ) -> None:
            for _ in range(draws):
                for batch in batches:
                    model(batch)

        times = medians({"ours": lambda run=run: run.evaluate(1), "bare": bare}, seconds, device=device)  # type: ignore[misc]
        name = f"{str(case).split(',')[0]}, {case.size} px, {IMAGES} images, {case.samples} draws"
        yield Result(f"{name}: evaluation / bare forward passes", times["ours"] / times["bare"], most=MAX_EVALUATION)


def loading_results(seconds: float, device: str) -> Iterator[Result]:
    for case in LOADED:
        run = start(case, "mfvi", device)
        index = torch.arange(case.batch)
        images, labels = run.train_set.batch(index), run.train_set.labels[index.to(device)]
        count = iter(range(10**9))
        candidates: dict[str, Callable[[], object]] = {
            "loading": lambda run=run, index=index: run.train_set.batch(index, run.streams.torch("augmentation", 1, 1)),  # type: ignore[misc]
            "step": lambda run=run, images=images, labels=labels, count=count: run.step(  # type: ignore[misc]
                images, labels, 2, next(count), False
            ),
        }
        times = medians(candidates, seconds, device=device)
        share = times["loading"] / times["step"]
        note = f"{1000 * times['loading']:.2f} ms"
        yield Result(f"{case}: augmented batch / training step", share, most=MAX_LOADING, note=note)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=8.0, help="measuring time per case")
    options.add_argument("--device", default="cpu", help="cpu or cuda")
    arguments = options.parse_args()
    torch.set_num_threads(1)

    def results() -> Iterator[Result]:
        yield from evaluation_results(arguments.seconds, arguments.device)
        yield from loading_results(arguments.seconds, arguments.device)

    return show(results(), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
