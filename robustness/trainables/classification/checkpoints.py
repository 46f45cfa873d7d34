"""Checkpoints: a trial's state between two epochs in a file of tensors and plain values, loaded without running code.

The file includes the results of all epochs so far, because the store may not have all of them yet.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from robustness.errors import CheckpointError
from robustness.files import replacing
from robustness.plugins import trainable_name
from robustness.trainables.optimizers import JoinedOptimizer
from robustness.trial import EpochResult, Trial

FORMAT = 2

_NOT_DECISIVE = ("checkpoint", "stage", "run")
"""Fields of a trial that do not change its numbers."""


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
        # With a damaged file, or one from another trial, training simply starts from the beginning.
        with contextlib.suppress(CheckpointError):
            run.epochs.extend(load_checkpoint(path, run.trial, *run.state()))
    yield from tuple(run.epochs)
    while not run.over():
        result = run.next_epoch()
        if path is not None and run.checkpoint_every and result.epoch % run.checkpoint_every == 0:
            save_checkpoint(path, run.trial, *run.state(), run.epochs)
        yield result


def save_checkpoint(
    path: Path, trial: Trial, model: nn.Module, optimizer: JoinedOptimizer, epochs: Sequence[EpochResult]
) -> None:
    """Write the state after the last of `epochs`, atomically."""
    state = {
        "format": FORMAT,
        "trial": identity(trial),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epochs": json.dumps([asdict(result) for result in epochs]),
    }
    with replacing(path) as file:
        torch.save(state, file)


def load_checkpoint(path: Path, trial: Trial, model: nn.Module, optimizer: JoinedOptimizer) -> list[EpochResult]:
    """Restore the saved state and return the epochs up to it; raises `CheckpointError` if it is from another trial."""
    state = read_tensors(path)
    if state.get("format") != FORMAT or not _is_same_trial(state.get("trial"), trial):
        raise CheckpointError(f"{path}: the checkpoint belongs to another trial")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return [EpochResult(**values) for values in json.loads(state["epochs"])]


def read_tensors(path: Path) -> dict[str, Any]:
    """Return the content of a file of tensors and plain values; refuses a file that would run code when loaded."""
    try:
        with warnings.catch_warnings():
            # For other pickles torch warns before it raises; the error is enough.
            warnings.simplefilter("ignore", UserWarning)
            state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path}: not a model or checkpoint written by robustness; refused, because it may contain code"
        ) from error
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise CheckpointError(f"{path}: is a folder, not a file") from error
    except (OSError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: damaged, or not a model or checkpoint written by robustness") from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path}: not a model or checkpoint written by robustness")
    return state


def identity(trial: Trial) -> str:
    """Return everything that affects a trial's numbers, as JSON."""
    return _identity(asdict(trial))


def _is_same_trial(stored: object, trial: Trial) -> bool:
    """Whether a stored identity is this trial's, possibly with a former name of its trainable."""
    try:
        values = json.loads(str(stored))
        return _identity({**values, "trainable": trainable_name(values["trainable"])}) == identity(trial)
    except (ValueError, TypeError, KeyError):
        return False


def _identity(values: Mapping[str, Any]) -> str:
    decisive = {name: value for name, value in values.items() if name not in _NOT_DECISIVE}
    return json.dumps(decisive, sort_keys=True, default=str)
