"""Learning curves as a small chart shows them: the metric in a few bins of epochs, in 255 steps of its range."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.frames import KEY, StudyFrames
from report.scales import around

MOST_BYTES = 200_000
"""Together; many trials have fewer bins each."""
MOST_BINS, FEWEST_BINS = 60, 16
MISSING = 255
"""The byte of a bin without a value."""
_TAIL = 0.01
_FAR = 3.0
"""Values so many times as far apart as all but the tails do not stretch the axis."""


@dataclass(frozen=True)
class ThinnedCurves:
    """The curves of trials: bytes [trials, bins], the epoch of each bin's middle, and the range of the 255 steps."""

    steps: NDArray[np.uint8]
    epochs: list[float]
    low: float
    high: float


def thinned(epochs: pd.Series, values: NDArray[np.float64], owners: NDArray[np.int64], trials: int) -> ThinnedCurves:
    """The curves of `trials` trials from values [n] at epochs [n], each that of the trial `owners` [n]."""
    known = np.isfinite(values)
    if not known.any() or not trials:
        return ThinnedCurves(np.zeros((trials, 0), dtype=np.uint8), [], 0.0, 1.0)
    numbers, sample, owner = epochs.to_numpy(dtype=float), values, owners
    if not known.all():
        numbers, sample, owner = numbers[known], sample[known], owner[known]
    different = np.unique(numbers)
    bins = int(np.clip(MOST_BYTES // trials, FEWEST_BINS, MOST_BINS))
    if len(different) <= bins:
        place, middles = np.searchsorted(different, numbers), different
    else:
        first, last = float(different[0]), float(different[-1])
        width = (last - first) / bins
        place = np.minimum(((numbers - first) / width).astype(np.int64), bins - 1)
        middles = first + width * (np.arange(bins) + 0.5)
    size = trials * len(middles)
    cell = owner * len(middles) + place
    number = np.bincount(cell, minlength=size)
    low, high = shown_range(sample)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(cell, weights=np.clip(sample, low, high), minlength=size) / number
    steps = np.full(size, MISSING, dtype=np.uint8)
    filled = number > 0
    scaled = (mean[filled] - low) / (high - low)
    steps[filled] = np.clip(np.rint(scaled * (MISSING - 1)), 0, MISSING - 1).astype(np.uint8)
    return ThinnedCurves(steps.reshape(trials, -1), [float(f"{x:.6g}") for x in middles], low, high)


def ends_only(frames: StudyFrames) -> bool:
    """Whether an import has no more of any run than its best epoch and its last, which are not neighbours in some."""
    epochs = frames.trained() if frames.document.get("trainable") == "imported" else pd.DataFrame()
    if epochs.empty:
        return False
    found = epochs.groupby(KEY)["epoch"]
    return bool(found.size().max() <= 2 and (found.max() - found.min()).max() > 1)


def shown_range(values: NDArray[np.float64]) -> tuple[float, float]:
    """The ends of an axis for these values, all finite; a few very far from the others do not stretch it."""
    low, high = float(values.min()), float(values.max())
    inner_low, inner_high = (float(end) for end in np.quantile(values, [_TAIL, 1 - _TAIL]))
    if inner_high > inner_low and high - low > _FAR * (inner_high - inner_low):
        low, high = inner_low, inner_high
    if not high > low or not math.isfinite(high - low):
        return around(low)
    return low, high
