"""`robustness.sweep(arms, space, ...)` runs a sweep: `help(robustness.sweep)` explains its options.

This package holds a sweep's plan, the trials it runs, how they are judged, and when it may stop. It can be called:
Python puts the package under the name `robustness.sweep` as soon as any of its modules is imported, so a function of
that name would disappear.
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    @property
    def __call__(self) -> Any:
        """The function `robustness.api.sweep.sweep`, with its signature and text."""
        return import_module("robustness.api.sweep").sweep

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """The function's own text with its call and that of its `options`, which `help` and notebooks show."""
        summary, _, rest = inspect.cleandoc(str(self.__call__.__doc__)).partition("\n\n")
        made = import_module("robustness.api.function_study").function_study
        options = [str(each) for each in inspect.signature(made).parameters.values() if each.kind is each.KEYWORD_ONLY]
        _, _, about = inspect.cleandoc(str(made.__doc__)).partition("\n\n")
        listed = "\n".join(["Options of functions:", *(f"    {option}" for option in options)])
        return f"{summary}\n\nsweep{inspect.signature(self.__call__)}\n\n{rest}\n\n{listed}\n\n{about}"

    @property
    def __wrapped__(self) -> Any:
        """The function, whose signature `inspect` and notebooks show."""
        return self.__call__

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name, as any module is by cloudpickle: a user's function may refer to it."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _CallablePackage
