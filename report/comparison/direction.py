"""The direction of a difference: which arm is subtracted, and which of the two is better."""

from __future__ import annotations

from collections.abc import Sequence

from report.records.comparisons import Change, Corrected
from report.records.estimates import (
    Difference,
)
from report.words import SIGNIFICANT


def second_minus_first(entry: Corrected, difference: float | None) -> Change:
    """A comparison as the second arm minus the first; `difference` is the entry's own, first minus second."""
    low, high = entry["low"], entry["high"]
    return {
        "difference": None if difference is None else 0.0 - difference,
        "low": None if high is None else 0.0 - high,
        "high": None if low is None else 0.0 - low,
        "interval": entry["interval"],
        "p_value": entry["p_value"],
        "p_adjusted": entry["p_adjusted"],
        "test": entry["test"],
    }


def turned(entry: Difference) -> tuple[float | None, float | None, float | None]:
    """A difference of the first arm less the second with its ends, as the second less the first, as pages show it."""
    ends = (entry["difference"], entry["high"], entry["low"])
    difference, low, high = (None if value is None else 0.0 - value for value in ends)
    return difference, low, high


def favoured(
    arms: Sequence[str], difference: float | None, p_value: float | None, *, more_is_better: bool
) -> str | None:
    """The better of two arms by their difference, first minus second; None unless it is significant."""
    if p_value is None or p_value >= SIGNIFICANT or not difference:
        return None
    return str(arms[0] if (difference > 0) == more_is_better else arms[1])
