"""How long the trials of the fair controls trained, and how far the scale of their noise moved meanwhile.

Two of the controls differ only in what their scales do after the start. Where scales hardly move, the arms are the same
network, and a comparison of them cannot show a difference, whatever the truth about longer training is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from report.frames import KEY
from report.judged_study import JudgedStudy

STEPS = "steps_per_epoch"
"""The measure of a trial's first epoch that has the number of updates in each."""
HARDLY = 1.5
"""A median scale that changes by less than this factor has hardly moved."""
RANGE = (0.05, 0.95)


class ScaleChange(TypedDict):
    """The factor by which the median sigma of a network changed: the median and quantiles over trials."""

    median: float
    low: float
    high: float


class TrainingResults(TypedDict):
    """What the trials of the controls could show."""

    epochs: float | None
    updates: float | None
    scale: dict[str, ScaleChange | None]


def training_results(study: JudgedStudy, judged: pd.DataFrame, arms: Sequence[str]) -> TrainingResults:
    """Medians over the trials: `epochs` and `updates` after pre-training, and for each arm how its `scale` changed.

    `epochs` is None where some were not recorded, as in an import of the best and the last of each trial, `updates`
    also where neither the store nor the study says how many batches an epoch has. `scale` has for each arm
    the factor by which the median sigma of a network changed from its first recorded epoch to its last: the `median`
    over trials, and the 5 and 95 % quantiles `low` and `high`; None without any.
    """
    trials = judged[judged["arm"].isin(arms)]
    epochs = study.frames.epochs.merge(trials[KEY], on=KEY)
    scale: dict[str, ScaleChange | None] = {}
    for arm in arms:
        factors = _factors(epochs[epochs["arm"] == arm])
        low, high = np.quantile(factors, RANGE) if len(factors) else (0.0, 0.0)
        scale[arm] = {"median": float(np.median(factors)), "low": low, "high": high} if len(factors) else None
    counted = trials["epochs"].to_numpy(dtype=float)
    if _has_gaps(epochs):
        counted = np.full(len(trials), np.nan)
    updates = _steps(study, epochs, trials) * counted
    known = updates[np.isfinite(updates)]
    return {
        "epochs": float(np.median(counted)) if len(trials) and np.isfinite(counted).all() else None,
        "updates": float(np.median(known)) if len(known) else None,
        "scale": scale,
    }


def _has_gaps(epochs: pd.DataFrame) -> bool:
    """Whether a trial has fewer recorded epochs than lie between its first and its last."""
    each = epochs.groupby(KEY, sort=False)["epoch"].agg(["min", "max", "nunique"])
    return bool((each["nunique"] < each["max"] - each["min"] + 1).any())


def training_sentence(training: TrainingResults) -> str | None:
    """What the controls' trials could show, by their length and by how far their noise moved; None if unknown."""
    if training["epochs"] is None:
        return None
    length = f"{training['epochs']:g} epochs after pre-training"
    if training["updates"] is not None:
        length += f", a median of {training['updates']:,.0f} updates"
    start, throughout = list(training["scale"])[1:3]
    changes = {arm: change for arm in (start, throughout) if (change := training["scale"][arm]) is not None}
    if len(changes) < 2:
        return f"Trials had {length}."
    moved = "; ".join(f"{arm} {_times(change)}" for arm, change in changes.items())
    sentence = f"Trials had {length}, in which the median sigma of a network changed by a factor of: {moved}."
    if all(1 / HARDLY < change["median"] < HARDLY for change in changes.values()):
        sentence += (
            f" Since it hardly moved, {start} and {throughout} are nearly the same method here: this study "
            "cannot tell less noise at the start from less noise throughout, and says nothing about longer training."
        )
    return sentence


def _times(change: ScaleChange) -> str:
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
