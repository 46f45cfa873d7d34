"""A sweep: its plan, the trials it runs, how they are judged, and when it may stop.

The package can be called: `robustness.sweep(...)` is `robustness.api.sweep.sweep`. Importing any of its modules puts
the package itself under that name, so a function beside it would disappear.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run a sweep: see `robustness.api.sweep.sweep`."""
        return import_module("robustness.api.sweep").sweep(*arguments, **options)

    @property
    def __wrapped__(self) -> Any:
        """The function, whose signature and text `help` shows."""
        return import_module("robustness.api.sweep").sweep


sys.modules[__name__].__class__ = _CallablePackage
