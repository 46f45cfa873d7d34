"""Damaged checkpoints and models: whether any of them changes a number without a word.

A final trial is trained once undisturbed. Its checkpoint and its model file, as they are after three of five epochs,
are damaged at random places, with and without a checksum, and the trial is resumed; a finished model is damaged and
loaded for predictions. A case is right if the numbers are bit for bit those of the undisturbed trial, or if the file is
refused.

    python benchmarks/damage.py --cases 300 --seed 0
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from robustness.errors import CheckpointError
from robustness.guards.sealed import read_sealed
from robustness.trainables.classification import final_training
from robustness.trainables.classification.predictions import load_predictions, model_file, predictions_file
from robustness.trainables.classification.saved_model import load_model
from robustness.trial import EpochResult, Trial

TASK = {"name": "synthetic_fundus", "image_size": 16, "train": 32, "validation": 24, "test": 12}
EPOCHS, STOPPED_AFTER = 5, 3
TARGETS = ("checkpoint", "model on resuming", "model for predictions", "old checkpoint", "old model")
"""`old` files have no checksum."""


@dataclass(frozen=True)
class Undisturbed:
    """A trial that was trained without damage, and its files after three epochs and at the end."""

    trial: Trial
    results: str
    probabilities: bytes
    checkpoint: bytes
    model: bytes
    finished_model: bytes
    predictions: bytes
    images: Any


def train_undisturbed(folder: Path) -> Undisturbed:
    """Train a trial whose best epoch comes before the last checkpoint, so that resuming needs its model file."""
    for seed in range(100):
        trial = _trial(seed, folder)
        epochs = final_training.train(trial)
        scores = [next(epochs).measures[trial.metric] for _ in range(STOPPED_AFTER)]
        if scores[1] > scores[2]:
            break
    checkpoint, model = Path(str(trial.checkpoint)).read_bytes(), model_file(trial).read_bytes()
    results = _results(final_training.train(trial))
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (3, 16, 16, 3), dtype=np.uint8)
    return Undisturbed(
        trial,
        results,
        load_predictions(predictions_file(trial))["probabilities"].tobytes(),
        checkpoint,
        model,
        model_file(trial).read_bytes(),
        load_model(model_file(trial)).predict(images, 2).tobytes(),
        images,
    )


def _trial(seed: int, folder: Path) -> Trial:
    return Trial(
        study="damage",
        seed=seed,
        configuration=0,
        arm="radial",
        hyperparameters={
            "optimizer": "amsgrad",
            "learning_rate": 1e-3,
            "batch_size": 16,
            "variational_samples": 1,
            "initial_rho": -3.0,
        },
        method="radial",
        task=TASK,
        model={"name": "vgg_small", "base_channels": 2, "depth": "short"},
        training={"epochs": EPOCHS, "evaluation_samples": 2, "checkpoint_every": 1},
        trainable="final_classification",
        checkpoint=str(folder / f"{seed}" / "0-radial-0.pt"),
    )


def _results(epochs: Any) -> str:
    """The measures of every epoch, except times, exactly."""

    def exact(result: EpochResult) -> dict[str, str]:
        return {name: float(value).hex() for name, value in result.measures.items() if name != "seconds_per_epoch"}

    return json.dumps([(result.epoch, exact(result)) for result in epochs])


def flip(content: bytearray, rng: np.random.Generator) -> None:
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))


def truncate(content: bytearray, rng: np.random.Generator) -> None:
    del content[rng.integers(len(content)) :]


def swap(content: bytearray, rng: np.random.Generator) -> None:
    size = int(rng.integers(1, 257))
    first, second = (int(place) for place in rng.integers(0, len(content) - size, 2))
    content[first : first + size], content[second : second + size] = (
        content[second : second + size],
        content[first : first + size],
    )


def zero(content: bytearray, rng: np.random.Generator) -> None:
    size = int(rng.integers(1, 4097))
    start = int(rng.integers(len(content)))
    content[start : start + size] = bytes(len(content[start : start + size]))


def extend(content: bytearray, rng: np.random.Generator) -> None:
    content += rng.integers(0, 256, int(rng.integers(1, 100)), dtype=np.uint8).tobytes()


KINDS: tuple[Callable[[bytearray, np.random.Generator], None], ...] = (flip, truncate, swap, zero, extend)


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The content with damage of a random kind at a random place; it always differs."""
    while True:
        changed = bytearray(content)
        KINDS[rng.integers(len(KINDS))](changed, rng)
        if changed != content:
            return bytes(changed)


def answer(case: Undisturbed, target: str, rng: np.random.Generator, folder: Path) -> str:
    """What became of a damaged file: `same numbers`, `refused`, or `WRONG`."""
    old, kind = target.startswith("old"), target.removeprefix("old ").partition(" ")[0]
    contents = {"checkpoint": case.checkpoint, "model": case.finished_model if "predict" in target else case.model}
    if old:
        contents = {name: _without_checksum(content, folder) for name, content in contents.items()}
    contents[kind] = damaged(contents[kind], rng)
    trial = replace(case.trial, checkpoint=str(folder / "0-radial-0.pt"))
    if "predict" in target:
        path = folder / "stranger.model.pt"
        path.write_bytes(contents["model"])
        try:
            same = load_model(path).predict(case.images, 2).tobytes() == case.predictions
        except CheckpointError:
            return "refused"
        return "same numbers" if same else "WRONG"
    Path(str(trial.checkpoint)).write_bytes(contents["checkpoint"])
    model_file(trial).write_bytes(contents["model"])
    results = _results(final_training.train(trial))
    probabilities = load_predictions(predictions_file(trial))["probabilities"].tobytes()
    return "same numbers" if (results, probabilities) == (case.results, case.probabilities) else "WRONG"


def _without_checksum(content: bytes, folder: Path) -> bytes:
    path = folder / "sealed"
    path.write_bytes(content)
    return read_sealed(path, "model_bytes", CheckpointError)[0]


def measure(cases: int, seed: int) -> dict[str, Counter[str]]:
    """Count the answers to so many cases, shared out evenly over the targets."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    counts: dict[str, Counter[str]] = {target: Counter() for target in TARGETS}
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stderr(io.StringIO()):
        case = train_undisturbed(Path(place))
        folder = Path(place) / "damaged"
        folder.mkdir()
        for number in range(cases):
            target = TARGETS[number % len(TARGETS)]
            counts[target][answer(case, target, rng, folder)] += 1
    return counts


def main() -> int:
    """Print a table; the exit code is 1 if a number changed."""
    options = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    options.add_argument("--cases", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--json", type=Path, help="also write the counts to this file")
    arguments = options.parse_args()
    counts = measure(arguments.cases, arguments.seed)
    for target, answers in counts.items():
        print(f"{target:24}", ", ".join(f"{count} {name}" for name, count in sorted(answers.items())))
    if arguments.json:
        arguments.json.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
    wrong = sum(answers["WRONG"] for answers in counts.values())
    print(f"{arguments.cases} damaged files, {wrong} changed a number")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
