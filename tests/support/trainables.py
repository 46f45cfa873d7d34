"""Trainables without torch for tests of executors and sweeps; a worker finds this module on the driver's path."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np

from robustness.errors import Diverged
from robustness.execution.attempts import VISIBLE
from robustness.streams import Streams
from robustness.trainables.trainable import Trainable
from robustness.trial import EpochResult, Purpose, Trial


def number(*parts: object) -> float:
    """A number in [0, 1) that depends on nothing but its arguments."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:6], "little") / 2**48


def wait_for(path: Path, limit: float = 120.0, longer_than: int = -1) -> None:
    """Wait until a file is there and has more bytes than so many."""
    end = time.monotonic() + limit
    while not path.exists() or path.stat().st_size <= longer_than:
        if time.monotonic() > end:
            raise TimeoutError(f"{path} did not appear")
        time.sleep(0.02)


def empty(trial: Trial) -> Iterator[EpochResult]:
    """One epoch, at once."""
    yield EpochResult(1, {trial.metric: number(trial.seed, trial.configuration, trial.arm)})


def quick(trial: Trial) -> Iterator[EpochResult]:
    """A few epochs whose numbers depend on the trial alone."""
    pause = float(trial.training.get("pause", 0.0))
    if "folder" in trial.training:
        with (Path(str(trial.training["folder"])) / "begun").open("a") as file:
            file.write(f"{trial.key}\n")
    for epoch in range(1, int(trial.training.get("epochs", 3)) + 1):
        time.sleep(pause)
        auc = number(trial.seed, trial.configuration, trial.arm, trial.replicate, epoch)
        yield EpochResult(epoch, {trial.metric: auc, "loss": 1 - auc}, pretraining=epoch == 1, seconds=pause)


def killed_in_second_replicate(trial: Trial) -> Iterator[EpochResult]:
    """`quick`, but the first trial of the second replicate kills its process after an epoch, once."""
    mark = Path(str(trial.training["folder"])) / "killed"
    for result in quick(trial):
        yield result
        if trial.replicate == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def faulty(trial: Trial) -> Iterator[EpochResult]:
    """A trial that goes wrong in the way that its hyperparameter `fault` names; `folder` is where it leaves marks."""
    fault = trial.hyperparameters.get("fault")
    folder = trial.training.get("folder")
    if folder is not None:
        mark = Path(str(folder)) / f"{trial.configuration}.attempts"
        with mark.open("a") as file:
            file.write(f"{os.getpid()}\n")
    yield EpochResult(1, {trial.metric: 0.6, "loss": 1.0})
    if fault == "raises" or (fault == "no_disk" and not (Path(str(folder)) / "disk").exists()):
        raise ValueError("a fault on purpose")
    if fault == "out_of_memory":
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
    if fault == "cpu_memory":
        raise MemoryError
    if fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "killed_once" and mark.read_text().count("\n") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "diverges":
        raise Diverged(2, 7)
    if fault == "nan":
        yield EpochResult(2, {trial.metric: float("nan"), "loss": float("nan")})
    if fault == "hangs":
        time.sleep(3600)
    yield EpochResult(3, {trial.metric: 0.7, "loss": 0.5})


def meets(trial: Trial) -> Iterator[EpochResult]:
    """Configurations 0 to 3 wait until all of them have begun; any other notes how many of them had left."""
    folder = Path(str(trial.training["folder"]))
    if trial.configuration < 4:
        (folder / f"{trial.configuration}.begun").touch()
        for other in range(4):
            wait_for(folder / f"{other}.begun")
        (folder / f"{trial.configuration}.left").touch()
    else:
        (folder / f"{trial.configuration}.saw").write_text(str(len(list(folder.glob("*.left")))))
    yield EpochResult(1, {trial.metric: 0.5})


def sees_gpus(trial: Trial) -> Iterator[EpochResult]:
    """Notes which GPUs it is shown."""
    (Path(str(trial.training["folder"])) / f"{trial.configuration}.gpus").write_text(str(os.environ.get(VISIBLE)))
    yield EpochResult(1, {trial.metric: 0.5})


def never_ends(trial: Trial) -> Iterator[EpochResult]:
    """Begins, leaves a mark and sleeps."""
    (Path(str(trial.training["folder"])) / f"{trial.configuration}.begun").touch()
    time.sleep(3600)
    yield EpochResult(1, {trial.metric: 0.5})


def decided(trial: Trial) -> Iterator[EpochResult]:
    """The first arm always learns nothing, the second always something."""
    yield EpochResult(1, {trial.metric: 0.1 if trial.arm == "first" else 0.9})


def quick_on_node(trial: Trial) -> Iterator[EpochResult]:
    """`quick`, which leaves a mark in its folder if it runs on the node called `second`."""
    if os.environ.get("SIMULATED_NODE") == "second":
        (Path(str(trial.training["folder"])) / "begun_on_second").touch()
    yield from quick(trial)


def reads_a_file(trial: Trial) -> Iterator[EpochResult]:
    """What is in a file whose path, as a study's user may give it, is meant from where the sweep was started."""
    yield EpochResult(1, {"validation_auc": float(Path(trial.task["file"]).read_text())})


def _odd_metric(trial: Trial) -> Iterator[EpochResult]:
    """The metric is infinite, missing or fine, by configuration; the first epoch is the start."""
    value = {0: math.inf, 1: None, 2: 0.9}[trial.configuration]
    yield EpochResult(0, {trial.metric: 0.5}, pretraining=True)
    yield EpochResult(1, {"loss": 1.0} if value is None else {"loss": 1.0, trial.metric: value})


odd_metric = Trainable(_odd_metric, may_lack_metric=True)


def draws_random_numbers(trial: Trial) -> Iterator[EpochResult]:
    """Numbers from the global generators, as careless code draws them."""
    yield EpochResult(1, {trial.metric: random.random(), "numpy": float(np.random.rand())})  # noqa: NPY002


def never_stops(trial: Trial) -> Iterator[EpochResult]:
    """Epochs without an end."""
    for epoch in itertools.count(1):
        yield EpochResult(epoch, {trial.metric: 0.5, "loss": 1.0})


def streamed(trial: Trial) -> Iterator[EpochResult]:
    """Three epochs whose numbers come from the trial's random streams, its task and its hyperparameters."""
    shift = sum(number(name, value) for name, value in trial.hyperparameters.items())
    shift += number(trial.task.get("name"), trial.task.get("classes")) + number(trial.method)
    for epoch in range(1, 4):
        score = float(Streams.of(trial).numpy("initialisation", epoch).random()) / 4 + (shift % 1) * 3 / 4
        # A multiple of 2^-12, so that one minus the score and differences of scores are exact.
        score = round(score * 4096) / 4096
        yield EpochResult(epoch, {trial.metric: score, "loss": 1 - score})


def streamed_error(trial: Trial) -> Iterator[EpochResult]:
    """`streamed`, measured as an error: one minus the score."""
    for result in streamed(trial):
        error = 1 - result.measures[trial.metric]
        yield EpochResult(result.epoch, {trial.metric: error, "loss": error})


def one_stream(trial: Trial) -> Iterator[EpochResult]:
    """The score depends on the configuration and on the stream `data_order` alone; others are drawn from in vain."""
    streams = Streams.of(trial)
    for purpose in get_args(Purpose):
        streams.numpy(purpose).random()
    rate = float(trial.hyperparameters["rate"])
    yield EpochResult(1, {"validation_auc": 0.5 + 0.2 * rate + 0.1 * float(streams.numpy("data_order").random())})


def partly_failing(trial: Trial) -> Iterator[EpochResult]:
    """`streamed`, but the second arm fails on every third configuration."""
    if trial.arm == "second" and trial.configuration % 3 == 0:
        raise ValueError("a fault on purpose")
    yield from streamed(trial)
