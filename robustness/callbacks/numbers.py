"""The numbers among what a framework logs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TAKEN = ("epoch", "self")
"""Names of the parameters of `Trial.report`."""


def measures(logged: Mapping[str, Any]) -> dict[str, float]:
    """Return what is a number, under names that can be keywords: `val/acc` becomes `val_acc`."""
    found: dict[str, float] = {}
    for name, value in logged.items():
        number = _number(value)
        if number is not None and name not in _TAKEN:
            found[re.sub(r"\W", "_", name)] = number
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, (bool, str)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor of several values
        return None
