"""Callbacks that report the epochs of other training frameworks to a trial; each needs its framework's package."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robustness.callbacks.lightning import LightningReport
    from robustness.callbacks.transformers import TransformersReport

__all__ = ["LightningReport", "TransformersReport"]

_HOMES = {"LightningReport": "lightning", "TransformersReport": "transformers"}


def __getattr__(name: str) -> Any:
    """Import a callback when it is first used, since its framework may not be installed."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
