"""A trial's state between two epochs, in a file that holds tensors and plain values only and is loaded as such.

The file holds the epochs before it too, so a trial that goes on from it needs nothing that a store may not have yet.
"""

from __future__ import annotations

import json
import os
import pickle
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from robustness.errors import CheckpointError
from robustness.trainables.classification.optimizers import JoinedOptimizer
from robustness.trial import EpochResult, Trial

FORMAT = 2


def save_checkpoint(
    path: Path, trial: Trial, model: nn.Module, optimizer: JoinedOptimizer, epochs: Sequence[EpochResult]
) -> None:
    """Write the state after the last of `epochs`; a reader finds the old file or the new one, never a part."""
    state = {
        "format": FORMAT,
        "trial": identity(trial),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epochs": json.dumps([asdict(result) for result in epochs]),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    torch.save(state, unfinished)
    unfinished.replace(path)


def load_checkpoint(path: Path, trial: Trial, model: nn.Module, optimizer: JoinedOptimizer) -> list[EpochResult]:
    """Put the saved state back and give the epochs up to it; raises `CheckpointError` if it is not this trial's."""
    state = read_tensors(path)
    if state.get("format") != FORMAT or state.get("trial") != identity(trial):
        raise CheckpointError(f"{path}: the checkpoint is of another trial")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return [EpochResult(**values) for values in json.loads(state["epochs"])]


def read_tensors(path: Path) -> dict[str, Any]:
    """A file of tensors and plain values; one that would run code when it is loaded is refused."""
    try:
        with warnings.catch_warnings():
            # A foreign pickle makes torch warn before it refuses: the refusal says enough.
            warnings.simplefilter("ignore", UserWarning)
            state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(f"{path}: refused, since it holds more than tensors and plain values") from error
    except (OSError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: not a readable checkpoint ({type(error).__name__})") from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path}: not a checkpoint of this program")
    return state


def identity(trial: Trial) -> str:
    """All that decides a trial's numbers, as text."""
    return json.dumps(asdict(replace(trial, checkpoint=None)), sort_keys=True, default=str)
