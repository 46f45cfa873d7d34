"""Training dynamics: the epochs where an arm's training AUC turns down, its NLL term up, and its gradient noise rises.

For studies that measure the gradient's noise (`training.gradient_noise_every`). Every trial of every arm is looked at
on its own, by `robustness.statistics.turning`; pre-training epochs are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from report.frames import StudyFrames
from robustness.statistics.turning import LEAST_VALUES, turning_point

NOISE = "gradient_sd"
TURNS = (("train_auc", "down"), ("nll", "up"), (NOISE, "up"))
"""What is looked at, and which way it turns where training falls apart."""
WORDS = {
    "train_auc": ("training AUC", "turns down"),
    "nll": ("NLL term", "turns up"),
    NOISE: ("gradient noise", "rises"),
}


def turns(frames: StudyFrames) -> dict[str, Any] | None:
    """For each arm and measure the trials that turned and where; None where no gradient noise was measured long enough.

    The gradient's noise is looked at by its logarithm, since it grows by factors.
    """
    epochs = frames.epochs.loc[~frames.epochs["pretraining"].astype(bool)]
    if NOISE not in epochs:
        return None
    measured = epochs.groupby(["configuration", "arm", "replicate"])[NOISE].count()
    if not (measured >= LEAST_VALUES).any():
        return None
    arms = {arm: _arm(epochs[epochs["arm"] == arm]) for arm in frames.arms}
    single = len(frames.configurations) == 1
    return {"arms": arms, "sentences": [_sentence(arm, found) for arm, found in arms.items()], "alone": single}


def _arm(epochs: pd.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for measure, way in TURNS:
        trials = []
        for (configuration, replicate), own in epochs.groupby(["configuration", "replicate"]):
            values = own[measure].to_numpy(dtype=float) if measure in own else np.full(len(own), np.nan)
            if measure == NOISE:
                values = np.log(values, out=np.full(len(values), np.nan), where=values > 0)
            turn = turning_point(own["epoch"], values, up=way == "up")
            at = {"configuration": configuration, "replicate": replicate, "last_epoch": own["epoch"].max()}
            if turn is None:
                trials.append({**at, "epoch": None})
            else:
                levels = asdict(turn)
                if measure == NOISE:
                    levels |= {name: float(np.exp(levels[name])) for name in ("best", "end")}
                trials.append({**at, **levels})
        places = [trial["epoch"] for trial in trials if trial["epoch"] is not None]
        found[measure] = {
            "way": way,
            "of": len(trials),
            "turned": len(places),
            "epoch": float(np.median(places)) if places else None,
            "trials": trials,
        }
    return found


def _sentence(arm: str, found: Mapping[str, Any]) -> str:
    told = "; ".join(
        f"{WORDS[measure][0]} {_turned(measure, found[measure])}" for measure, _ in TURNS if found[measure]["of"]
    )
    return f"{arm}: {told or 'no epoch has been recorded'}."


def _turned(measure: str, entry: Mapping[str, Any]) -> str:
    verb = WORDS[measure][1]
    if not entry["turned"]:
        return {"turns down": "never turns down", "turns up": "never turns up", "rises": "never rises"}[verb]
    if entry["of"] > 1:
        return f"{verb} in {entry['turned']} of {entry['of']} trials, after epoch {entry['epoch']:g} in the median"
    trial = entry["trials"][0]
    return f"{verb} after epoch {entry['epoch']:g} ({trial['best']:.3g} to {trial['end']:.3g} at the end)"
