"""Hyperparameter robustness studies: is method A less sensitive to its hyperparameters than method B?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robustness.store import open_store

__version__ = "0.1.0"
__all__ = ["__version__", "open_store"]


def __getattr__(name: str) -> Any:
    """`robustness.open_store` without paying for SQLAlchemy and pandas on every import."""
    if name == "open_store":
        from robustness.store import open_store

        return open_store
    raise AttributeError(f"module 'robustness' has no attribute {name!r}")
