"""The public Python functions: what the command line does, from a script or a notebook."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robustness.api.result import Result

__all__ = ["Result"]


def __getattr__(name: str) -> Any:
    """Import `Result` when it is first used: it loads pandas, which running trials do without."""
    if name == "Result":
        return import_module("robustness.api.result").Result
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
