"""The worker side of the Ray Tune executor: a process that runs one trial after another and reports every epoch.

A report is a dictionary with one opaque value under `EVENT`: first `Started`, then `EpochResult`s, then `Ending`.
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

from robustness.execution import shipped_functions
from robustness.execution.attempts import attempt, has_gpu, needs_torch, only_given_gpus, this_worker, use_threads
from robustness.execution.protocol import Ending, Share, Started
from robustness.execution.shared_data import provide
from robustness.execution.wording import error_line, one_line
from robustness.trial import EpochResult, Trial

EVENT = "event"
ASSIGNMENT = "assignment"


class WorkerSpent(Exception):
    """Raised after a trial's last report so that Tune replaces this process with a new one."""


@dataclass(frozen=True)
class Assignment:
    """One attempt at a trial, as sent to a worker inside Tune's `config`."""

    trial: Trial
    number: int
    """The number of the attempt, counted from 1."""
    share: Share
    timeout: float | None
    data: ray.ObjectRef[Any] | None
    """The task's arrays in Ray's object store, or None if each node reads them from disk."""
    functions: ray.ObjectRef[bytes] | None
    """The pickled functions of a study that was started from Python; None for others."""
    import_path: tuple[str, ...]
    """The driver's import path, so that workers find a user's own trainable."""
    folder: str
    """The driver's working directory, to which a study's relative paths refer."""

    def __str__(self) -> str:
        # Tune uses the configuration of a trial in folder and file names.
        return f"{self.trial.key}#{self.number}".replace("/", "-")

    def __deepcopy__(self, _memo: dict[int, Any]) -> Assignment:
        # Tune copies the configuration several times per trial; this one is immutable.
        return self


class TrialWorker(tune.Trainable):
    """A Tune trainable that is reused for the next trial; one call of `step` is one epoch."""

    def setup(self, config: dict[str, Any]) -> None:
        assignment: Assignment = config[ASSIGNMENT]
        for folder in assignment.import_path:
            if folder not in sys.path:
                sys.path.append(folder)
        if needs_torch(assignment.trial):
            # Lazy: other trials run without torch. Loaded here, before the first trial's clock starts.
            import torch  # noqa: F401
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
        self._spent = event.replace_worker
        return {EVENT: event, "done": not event.replace_worker}

    def cleanup(self) -> None:
        self._events = iter(())

    def get_auto_filled_metrics(self, *_: Any, **__: Any) -> dict[str, Any]:
        # By default Tune sends the whole configuration and ten more fields with every report.
        return {"trial_id": self.trial_id}

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> tune.PlacementGroupFactory:
        share: Share = config[ASSIGNMENT].share
        amounts = {"CPU": share.cpu, "GPU": share.gpu, "memory": share.memory * 1e9}
        return tune.PlacementGroupFactory([{name: amount for name, amount in amounts.items() if amount}])


def _events(assignment: Assignment) -> Iterator[Started | EpochResult | Ending]:
    gpus = sorted(str(gpu) for gpu in ray.get_runtime_context().get_accelerator_ids().get("GPU", ()))
    yield Started(this_worker(), f"gpu {','.join(gpus)}" if gpus else "cpu")
    # Tune changes to a new folder for each trial. On another machine the driver's folder may not exist.
    with suppress(OSError):
        os.chdir(assignment.folder)
    use_threads(assignment.share.threads)
    _limit_gpu_memory(assignment.share.gpu)
    try:
        if assignment.data is not None:
            provide(assignment.trial.task, assignment.data)
    except Exception as error:
        yield Ending("failed", f"the task's data did not reach the worker: {error}", retry=True, replace_worker=True)
        return
    try:
        if assignment.functions is not None:
            shipped_functions.provide(assignment.trial.study, assignment.functions)
    except Exception as error:
        # Unpickling imports the user's modules.
        line = one_line(f"the function did not reach the worker: {error_line(error)}")
        yield Ending("failed", line, replace_worker=True)
        return
    with only_given_gpus(assignment.share.gpu):
        yield from attempt(assignment.trial, assignment.timeout)


def _limit_gpu_memory(share: float) -> None:
    """Limit a trial to its share of the GPU's memory, so that the trials beside it do not run out."""
    if share < 1 and has_gpu(share):
        sys.modules["torch"].cuda.set_per_process_memory_fraction(share)
