"""Running the trials of a small study one at a time, and watching what they do to random numbers."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from robustness.errors import RobustnessError
from robustness.execution.attempts import attempt
from robustness.execution.protocol import Ending
from robustness.streams import Streams
from robustness.study.loading import make_study
from robustness.sweep.plan import make_plan
from robustness.trial import EpochResult, Trial

Numbers: TypeAlias = list[tuple[int, bool, dict[str, float], dict[str, list[float]]]]
"""What a trial measured: for each epoch its number, whether it was pre-training, its measures and its curves."""


def trials_of(study: Mapping[str, Any], folder: Path | None = None) -> tuple[Trial, ...]:
    """The trials of a study, which is plain data as in a study file."""
    return make_plan(make_study(study, "the study under test", folder)).trials


def run(trial: Trial) -> tuple[list[EpochResult], Ending]:
    """Train one trial in this process."""
    epochs: list[EpochResult] = []
    for event in attempt(trial):
        if isinstance(event, Ending):
            return epochs, event
        epochs.append(event)
    raise AssertionError(f"trial {trial.key} had no ending")


def numbers(trial: Trial) -> Numbers:
    """What a trial measures, times left out; fails if the trial does not finish or diverge."""
    epochs, ending = run(trial)
    assert ending.status in ("finished", "diverged"), f"trial {trial.key} {ending.status}: {ending.error}"
    return [
        (
            each.epoch,
            each.pretraining,
            {name: float(value) for name, value in each.measures.items()},
            {name: [float(value) for value in values] for name, values in each.curves.items()},
        )
        for each in epochs
    ]


def numbers_in_a_new_process(trial: Trial) -> Numbers:
    """What a trial measures as the first one of a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_numbers_of, (trial, sys.path))


def _numbers_of(trial: Trial, path: list[str]) -> Numbers:
    sys.path[:] = path
    return numbers(trial)


def refusal(call: Callable[[], object]) -> str:
    """The message of the error with which a call refuses bad options; fails if it accepts them."""
    try:
        call()
    except RobustnessError as error:
        return str(error)
    raise AssertionError("an unknown option is accepted; it should be refused by a RobustnessError that names it")


def seed_everything(seed: int) -> None:
    """Seed the global generators of Python and numpy, and of torch if it is loaded."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the global generator is what code under test may wrongly use
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


@contextlib.contextmanager
def recorded_streams() -> Iterator[list[tuple[str, tuple[int, ...]]]]:
    """Record the purpose and indices of every random stream that is opened within the block."""
    opened: list[tuple[str, tuple[int, ...]]] = []
    original = Streams.key

    def key(self: Streams, purpose: Any, *indices: int) -> int:
        opened.append((purpose, indices))
        return original(self, purpose, *indices)

    Streams.key = key  # type: ignore[method-assign]
    try:
        yield opened
    finally:
        Streams.key = original  # type: ignore[method-assign]
