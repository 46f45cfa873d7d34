"""Search spaces written in Python: ranges by function, choices as lists, as `robustness.sweep` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def log(low: float, high: float, *, integer: bool = False) -> dict[str, Any]:
    """Return a range on a logarithmic scale: each factor of ten is equally likely."""
    return {"low": low, "high": high, "scale": "log", **({"integer": True} if integer else {})}


def uniform(low: float, high: float, *, integer: bool = False) -> dict[str, Any]:
    """Return a range in which every number is equally likely, or every integer, both ends included."""
    return {"low": low, "high": high, **({"integer": True} if integer else {})}


def plain_space(value: Any) -> Any:
    """Return a space as a study file would have it: tuples, ranges and arrays as lists, numpy's numbers as Python's."""
    if isinstance(value, Mapping):
        return {key: plain_space(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain_space(inner) for inner in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value
