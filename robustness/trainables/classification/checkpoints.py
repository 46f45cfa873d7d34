"""Checkpoints: a trial's state between two epochs in a file of tensors and plain values, loaded without running code.

The file includes the results of all epochs so far, because the store may not have all of them yet. It has a checksum; a
damaged checkpoint is never used, and the trial starts again, which yields the same numbers.
"""

from __future__ import annotations

import copy
import json
import pickle
import sys
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from robustness.errors import CheckpointError
from robustness.guards.printable import printable
from robustness.guards.sealed import read_sealed, write_sealed
from robustness.plugins import trainable_name
from robustness.study.changes import present_training
from robustness.trainables.optimizers import JoinedOptimizer
from robustness.trial import EpochResult, Trial

FORMAT = 2

_FOREIGN = "not a model or checkpoint written by robustness"
_NOT_DECISIVE = ("checkpoint", "folder", "timeout", "stage", "run")
"""Fields of a trial that do not change its numbers."""
_LATER: Mapping[str, Any] = {"records_start": False, "goal": "maximize", "task_label": "", "own": (), "varied": None}
"""Later fields, omitted at their defaults: checkpoints from before they existed still belong to their trials."""


class Resumable(Protocol):
    """A running trial that can be saved between two epochs."""

    @property
    def trial(self) -> Trial: ...

    @property
    def epochs(self) -> list[EpochResult]:
        """The finished epochs."""
        ...

    @property
    def checkpoint_every(self) -> int:
        """The number of epochs between two checkpoints; 0 saves none."""
        ...

    def state(self) -> tuple[nn.Module, JoinedOptimizer]:
        """Return the networks and the optimiser in their current state."""
        ...

    def over(self) -> bool: ...

    def next_epoch(self) -> EpochResult:
        """Train one more epoch and append it to `epochs`."""
        ...


def epochs_of(run: Resumable) -> Iterator[EpochResult]:
    """Yield the epochs of a new run: those in its checkpoint file, then the rest as they finish."""
    path = Path(run.trial.checkpoint) if run.trial.checkpoint else None
    if path is not None and path.exists():
        try:
            run.epochs.extend(load_checkpoint(path, run.trial, *run.state()))
        except CheckpointError as error:
            warn(f"{error}; the trial starts again")
    yield from tuple(run.epochs)
    while not run.over():
        result = run.next_epoch()
        if path is not None and run.checkpoint_every and result.epoch % run.checkpoint_every == 0:
            try:
                save_checkpoint(path, run.trial, *run.state(), run.epochs)
            except OSError as error:
                warn(f"{path}: the checkpoint cannot be written ({error.strerror}); the trial goes on without it")
        yield result


def warn(line: str) -> None:
    """Print one line to stderr, which may be closed or full: the trial goes on regardless."""
    with suppress(OSError, ValueError):
        print(f"robustness: {printable(line)}", file=sys.stderr, flush=True)


def save_checkpoint(
    path: Path, trial: Trial, model: nn.Module, optimizer: JoinedOptimizer, epochs: Sequence[EpochResult]
) -> None:
    """Write the state after the last of `epochs`, atomically."""
    write_tensors(
        path,
        {
            "format": FORMAT,
            "trial": identity(trial),
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "epochs": json.dumps([asdict(result) for result in epochs]),
        },
    )


def load_checkpoint(path: Path, trial: Trial, model: nn.Module, optimizer: JoinedOptimizer) -> list[EpochResult]:
    """Restore the saved state and return the epochs up to it; raises `CheckpointError` if it is from another trial.

    After an error, the model and the optimiser are as they were.
    """
    epochs, state = read_checkpoint(path, trial)
    before = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    try:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    except Exception as error:  # Whatever torch raises for a state of another shape.
        model.load_state_dict(before[0])
        optimizer.load_state_dict(before[1])
        raise CheckpointError(f"{path}: the checkpoint does not fit the trial's networks") from error
    return epochs


def read_checkpoint(path: Path, trial: Trial) -> tuple[list[EpochResult], dict[str, Any]]:
    """Return the epochs in a checkpoint and its whole state; raises `CheckpointError` if it is from another trial."""
    state = read_tensors(path)
    if state.get("format") != FORMAT or not _is_same_trial(state.get("trial"), trial):
        raise CheckpointError(f"{path}: the checkpoint belongs to another trial")
    try:
        epochs = [EpochResult(**values) for values in json.loads(state["epochs"])]
        numbers = [result.epoch for result in epochs]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CheckpointError(f"{path}: damaged: its epochs cannot be read") from error
    if numbers != list(range(1, len(numbers) + 1)) or not {"model", "optimizer"} <= set(state):
        raise CheckpointError(f"{path}: damaged: its epochs are incomplete")
    return epochs, state


def write_tensors(path: Path, state: Mapping[str, Any]) -> None:
    """Write tensors and plain values with a checksum, atomically."""
    content = BytesIO()
    torch.save(dict(state), content)
    write_sealed(path, content.getvalue())


def read_tensors(path: Path) -> dict[str, Any]:
    """Return the content of a file of tensors and plain values; refuses a file that would run code when loaded."""
    content, sealed = read_sealed(path, "model_bytes", CheckpointError)
    _check_archive(path, content, sealed)
    try:
        with warnings.catch_warnings():
            # For other pickles torch warns before it raises; the error is enough.
            warnings.simplefilter("ignore")
            state = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(f"{path}: {_FOREIGN}; refused, because it may contain code") from error
    except Exception as error:  # torch raises almost anything for a damaged file.
        raise CheckpointError(f"{path}: damaged, or {_FOREIGN}") from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path}: {_FOREIGN}")
    return state


def _check_archive(path: Path, content: bytes, sealed: bool) -> None:
    """Refuse what is no archive of torch, and one that would grow in memory; verify one without a checksum by its CRCs.

    Torch itself reads damaged archives without a word.
    """
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entries = archive.infolist()
            whole = sum(entry.file_size for entry in entries) <= len(content)
            intact = sealed or archive.testzip() is None
    except Exception as error:  # zipfile raises almost anything for a damaged file.
        old = content[:1] == b"\x80"
        reason = f"{_FOREIGN}; refused, because it may contain code" if old else f"damaged, or {_FOREIGN}"
        raise CheckpointError(f"{path}: {reason}") from error
    if not whole or not intact or any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise CheckpointError(f"{path}: damaged, or {_FOREIGN}")


def identity(trial: Trial) -> str:
    """Return everything that affects a trial's numbers, as JSON."""
    return _identity(asdict(trial))


def _is_same_trial(stored: object, trial: Trial) -> bool:
    """Whether a stored identity is this trial's, possibly with former names in it."""
    try:
        values = json.loads(str(stored))
        present = {"trainable": trainable_name(values["trainable"]), "training": present_training(values["training"])}
        return _identity({**values, **present}) == identity(trial)
    except (ValueError, TypeError, KeyError):
        return False


def _identity(values: Mapping[str, Any]) -> str:
    decisive = {name: value for name, value in values.items() if name not in _NOT_DECISIVE}
    for name, usual in _LATER.items():
        if not decisive.get(name) or decisive[name] == usual:
            decisive.pop(name, None)
    return json.dumps(decisive, sort_keys=True, default=str)
