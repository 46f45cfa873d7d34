"""What goes on around the arithmetic of training: evaluation beside its bare forward passes, pictures beside a step.

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

MOST_EVALUATION, MOST_LOADING = 1.1, 0.1
EVALUATED = (Case("short", 32, 64, 4, MOST_EVALUATION), Case("full", 64, 64, 4, MOST_EVALUATION))
LOADED = (Case("short", 32, 16, 1, MOST_LOADING), Case("short", 32, 64, 1, MOST_LOADING), Case("full", 64, 16, 1, 0.1))
PICTURES = 256


def evaluation_results(seconds: float, device: str) -> Iterator[Result]:
    for case in EVALUATED:
        run = start(case, "radial", device, validation=PICTURES)
        model = bare_network([(16 * width, count) for width, count in DEPTHS[case.depth]], device)
        size = run.options.evaluation_batch_size
        batches = [run.validation_set.batch(slice(first, first + size)) for first in range(0, PICTURES, size)]

        @torch.inference_mode()
        def bare(
            model: torch.nn.Module = model, batches: list[torch.Tensor] = batches, draws: int = case.samples
        ) -> None:
            for _ in range(draws):
                for batch in batches:
                    model(batch)

        found = medians({"ours": lambda run=run: run.evaluate(1), "bare": bare}, seconds, device=device)  # type: ignore[misc]
        name = f"{str(case).split(',')[0]}, {case.size} px, {PICTURES} pictures, {case.samples} draws"
        yield Result(f"{name}: evaluation / bare forward passes", found["ours"] / found["bare"], most=MOST_EVALUATION)


def loading_results(seconds: float, device: str) -> Iterator[Result]:
    for case in LOADED:
        run = start(case, "mfvi", device)
        index = torch.arange(case.batch)
        images, labels = run.train_set.batch(index), run.train_set.labels[index.to(device)]
        count = iter(range(10**9))
        candidates: dict[str, Callable[[], object]] = {
            "pictures": lambda run=run, index=index: run.train_set.batch(
                index, run.streams.torch("augmentation", 1, 1)
            ),  # type: ignore[misc]
            "step": lambda run=run, images=images, labels=labels, count=count: run.step(  # type: ignore[misc]
                images, labels, 2, next(count), False
            ),
        }
        found = medians(candidates, seconds, device=device)
        share = found["pictures"] / found["step"]
        note = f"{1000 * found['pictures']:.2f} ms"
        yield Result(f"{case}: augmented batch / training step", share, most=MOST_LOADING, note=note)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=8.0, help="how long each case is measured")
    options.add_argument("--device", default="cpu", help="cpu or cuda")
    arguments = options.parse_args()
    torch.set_num_threads(1)

    def results() -> Iterator[Result]:
        yield from evaluation_results(arguments.seconds, arguments.device)
        yield from loading_results(arguments.seconds, arguments.device)

    return show(results(), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
