"""The worker's side of the Ray Tune executor: a process that runs one trial after another, a report an epoch.

A report is a dictionary with one opaque value under `EVENT`: `Started` first, then `EpochResult`s, then `Ending`.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ray
from ray import tune

from robustness.execution.attempts import attempt, has_gpu, needs_torch, only_given_gpus, this_worker, use_threads
from robustness.execution.protocol import Ending, Share, Started
from robustness.execution.shared_data import provide
from robustness.trial import EpochResult, Trial

EVENT = "event"
ASSIGNMENT = "assignment"


class WorkerSpent(Exception):
    """Raised after a trial's last report so that Tune starts a new process in place of this one."""


@dataclass(frozen=True)
class Assignment:
    """One attempt at one trial, as it goes to a worker inside Tune's `config`."""

    trial: Trial
    number: int
    """Counted from 1: which attempt this is."""
    share: Share
    timeout: float | None
    data: ray.ObjectRef[Any] | None
    """The task's arrays in Ray's object store, or nothing where each node reads them from its disk."""
    import_path: tuple[str, ...]
    """Folders from which the driver imports, so that a user's own trainable is found."""
    folder: str
    """The driver's working folder, from which a study's relative paths are meant."""

    def __str__(self) -> str:
        # Tune writes its trials' configuration into names of folders and files.
        return f"{self.trial.key}#{self.number}".replace("/", "-")

    def __deepcopy__(self, _memo: dict[int, Any]) -> Assignment:
        # Tune copies a configuration several times for each trial; this one never changes.
        return self


class TrialWorker(tune.Trainable):
    """A Tune trainable that is used again for the next trial; a call of `step` is an epoch."""

    def setup(self, config: dict[str, Any]) -> None:
        assignment: Assignment = config[ASSIGNMENT]
        for folder in assignment.import_path:
            if folder not in sys.path:
                sys.path.append(folder)
        if needs_torch(assignment.trial):
            import torch  # noqa: F401  once, before the first trial's clock runs
        gc.collect()
        gc.freeze()
        self._begin(assignment)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self._begin(new_config[ASSIGNMENT])
        return True

    def _begin(self, assignment: Assignment) -> None:
        self._spent = False
        self._events = _events(assignment)
        gc.collect()

    def step(self) -> dict[str, Any]:
        if self._spent:
            raise WorkerSpent
        event = next(self._events)
        if not isinstance(event, Ending):
            return {EVENT: event}
        self._spent = event.renew
        return {EVENT: event, "done": not event.renew}

    def cleanup(self) -> None:
        self._events = iter(())

    def get_auto_filled_metrics(self, *_: Any, **__: Any) -> dict[str, Any]:
        # Tune would send the whole configuration and ten facts of its own with every report.
        return {"trial_id": self.trial_id}

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> tune.PlacementGroupFactory:
        share: Share = config[ASSIGNMENT].share
        amounts = {"CPU": share.cpu, "GPU": share.gpu, "memory": share.memory * 1e9}
        return tune.PlacementGroupFactory([{name: amount for name, amount in amounts.items() if amount}])


def _events(assignment: Assignment) -> Iterator[Started | EpochResult | Ending]:
    gpus = sorted(str(gpu) for gpu in ray.get_runtime_context().get_accelerator_ids().get("GPU", ()))
    yield Started(this_worker(), f"gpu {','.join(gpus)}" if gpus else "cpu")
    # Tune moves to a folder of its own for each trial. On another machine the driver's may not exist.
    with suppress(OSError):
        os.chdir(assignment.folder)
    use_threads(assignment.share.threads)
    _take_share_of_gpu(assignment.share.gpu)
    try:
        if assignment.data is not None:
            provide(assignment.trial.task, assignment.data)
    except Exception as error:
        yield Ending("failed", f"the task's data did not reach the worker: {error}", again=True, renew=True)
        return
    with only_given_gpus(assignment.share.gpu):
        yield from attempt(assignment.trial, assignment.timeout)


def _take_share_of_gpu(share: float) -> None:
    """Keep a trial within its part of the GPU's memory, so that its neighbour does not run out."""
    if share < 1 and has_gpu(share):
        sys.modules["torch"].cuda.set_per_process_memory_fraction(share)
