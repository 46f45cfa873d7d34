"""A trainable: a random walk whose drift depends on the arm."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from robustness import EpochResult, RobustnessError, Streams, Trainable, Trial

left_over: list[object] = []


def train(trial: Trial) -> Iterator[EpochResult]:
    streams = Streams.of(trial)
    position = 0.0
    if os.environ.get("ROBUSTNESS_EXAMPLE_LEAK"):
        position = 0.001 * len(left_over)
        left_over.append(trial.key)
    drift = 0.2 if trial.method == "drifting" else 0.0
    for epoch in range(1, trial.training["epochs"] + 1):
        step = streams.numpy("data_order", epoch).normal()
        position += trial.hyperparameters["size"] * (step + drift)
        yield EpochResult(epoch, {"position": position}, curves={"steps": [step, drift]})


def check(study: Any, check_data: bool) -> Any:
    unknown = set(study.training) - {"epochs"}
    if unknown:
        raise RobustnessError(f"training.{min(unknown)}: unknown key (choose from: epochs)")
    return replace(study, training={"epochs": 3, **study.training})


TRAINABLE = Trainable(train, check=check, metrics=("position",), keeps_curves=True)
