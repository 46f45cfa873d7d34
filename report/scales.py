"""Which hyperparameters the page and its figures show on a logarithmic axis: one rule for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from report.frames import StudyFrames
from robustness.errors import RobustnessError
from robustness.space.options import Branches, Options, Range
from robustness.space.space import read_space

FACTOR = 100.0
"""From this factor between the smallest and the largest value on, small values cannot be told apart linearly."""


def is_logarithmic(values: Iterable[float], declared: bool = False) -> bool:
    """Whether positive numbers are shown on a logarithmic axis: if the space declares it, or from `FACTOR` on."""
    known = [value for value in values if value == value]
    if not known or min(known) <= 0:
        return False
    # 0.001 to 0.1 is a factor of 100, whatever floats make of it.
    return declared or max(known) >= min(known) * FACTOR * (1 - 1e-9)


def around(value: float) -> tuple[float, float]:
    """The ends of an axis for values that are all this one."""
    # Beyond 1e15 a number and 0.5 more are the same.
    half = 0.5 if abs(value) < 1e9 else abs(value) / 2
    return value - half, value + half


def margin(low: float, high: float, share: float, least: float = 0.02) -> float:
    """What an axis has beyond its values: a share of their range, and enough to see where all are equal."""
    return max(least, share * (high - low), 1e-9 * max(abs(low), abs(high)))


def log_names(frames: StudyFrames) -> set[str]:
    """The columns of hyperparameters that the study draws on a log scale; none if the space cannot be read."""
    spaces = [("", frames.document.get("space"))]
    spaces += [(f"{arm['label']}: ", arm.get("space")) for arm in frames.document["arms"]]
    names: set[str] = set()
    for prefix, stored in spaces:
        if stored:
            try:
                names |= {f"{prefix}{name}" for name in _log_ranges(read_space(stored, "space").options)}
            except RobustnessError:
                continue
    return names


def _log_ranges(options: Options) -> Iterator[str]:
    for name, option in options.items:
        if isinstance(option, Range) and option.log:
            yield name
        elif isinstance(option, Branches):
            for _, below in option.branches:
                yield from _log_ranges(below)
