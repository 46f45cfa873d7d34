"""How long the trials of the fair controls trained, and how far the scale of their noise moved meanwhile.

Two of the controls differ only in what their scales do after the start. Where scales hardly move, the arms are the same
network, and a comparison of them cannot show a difference, whatever the truth about longer training is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from report.frames import KEY
from report.judged_study import JudgedStudy

STEPS = "steps_per_epoch"
"""The measure of a trial's first epoch that has the number of updates in each."""
HARDLY = 1.5
"""A median scale that changes by less than this factor has hardly moved."""
RANGE = (0.05, 0.95)


def training_results(study: JudgedStudy, judged: pd.DataFrame, arms: Sequence[str]) -> dict[str, Any]:
    """Medians over the trials: `epochs` and `updates` after pre-training, and for each arm how its `scale` changed.

    `updates` is None where neither the store nor the study says how many batches an epoch has. `scale` has for each arm
    the factor by which the median sigma of a network changed from its first recorded epoch to its last: the `median`
    over trials, and the 5 and 95 % quantiles `low` and `high`; None without any.
    """
    trials = judged[judged["arm"].isin(arms)]
    epochs = study.frames.epochs.merge(trials[KEY], on=KEY)
    scale = {}
    for arm in arms:
        factors = _factors(epochs[epochs["arm"] == arm])
        low, high = np.quantile(factors, RANGE) if len(factors) else (0.0, 0.0)
        scale[arm] = {"median": float(np.median(factors)), "low": low, "high": high} if len(factors) else None
    updates = _steps(study, epochs, trials) * trials["epochs"].to_numpy(dtype=float)
    known = updates[np.isfinite(updates)]
    return {
        "epochs": float(trials["epochs"].median()) if len(trials) else None,
        "updates": float(np.median(known)) if len(known) else None,
        "scale": scale,
    }


def training_sentence(training: Mapping[str, Any]) -> str | None:
    """What the controls' trials could show, by their length and by how far their noise moved; None if unknown."""
    if training["epochs"] is None:
        return None
    length = f"{training['epochs']:g} epochs after pre-training"
    if training["updates"] is not None:
        length += f", a median of {training['updates']:,.0f} updates"
    start, throughout = ((arm, training["scale"][arm]) for arm in list(training["scale"])[1:3])
    if start[1] is None or throughout[1] is None:
        return f"Trials had {length}."
    moved = "; ".join(f"{arm} {_times(change)}" for arm, change in (start, throughout))
    sentence = f"Trials had {length}, in which the median sigma of a network changed by a factor of: {moved}."
    if all(1 / HARDLY < change["median"] < HARDLY for change in (start[1], throughout[1])):
        sentence += (
            f" Since it hardly moved, {start[0]} and {throughout[0]} are nearly the same method here: this study "
            "cannot tell less noise at the start from less noise throughout, and says nothing about longer training."
        )
    return sentence


def _times(change: Mapping[str, float]) -> str:
    return f"{change['median']:.3g} (5 to 95 % of trials: {change['low']:.3g} to {change['high']:.3g})"


def _factors(epochs: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """For each trial its median sigma at the last epoch over that at the first: [trials with two of them]."""
    if "sigma_median" not in epochs:
        return np.empty(0)
    known = epochs.dropna(subset="sigma_median").groupby(KEY, sort=False)["sigma_median"]
    ends = known.agg(["first", "last", "size"])
    ends = ends[(ends["size"] > 1) & (ends["first"] > 0)]
    return (ends["last"] / ends["first"]).to_numpy(dtype=float)


def _steps(study: JudgedStudy, epochs: pd.DataFrame, trials: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Updates per epoch of each trial, as recorded, else by the sizes of training set and batch; NaN where unknown."""
    if STEPS in epochs:
        recorded = epochs.dropna(subset=STEPS).drop_duplicates(KEY)[[*KEY, STEPS]]
        return trials[KEY].merge(recorded, on=KEY, how="left")[STEPS].to_numpy(dtype=float)
    images = (study.frames.document.get("task") or {}).get("train")
    drawn = study.frames.configurations
    if not isinstance(images, int) or "batch_size" not in drawn:
        return np.full(len(trials), np.nan)
    sizes = trials["configuration"].map(drawn["batch_size"]).to_numpy(dtype=float)
    return np.ceil(images / sizes)
