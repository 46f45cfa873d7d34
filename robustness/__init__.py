"""Hyperparameter robustness studies: is method A less sensitive to its hyperparameters than method B?

The names in `__all__` are what users may import; each resolves when it is first used, so that `import robustness` costs
nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robustness import bnn, callbacks, testing
    from robustness.api.importing import from_dataframe
    from robustness.api.result import Result
    from robustness.api.spaces import log, uniform
    from robustness.api.sweep import sweep
    from robustness.errors import Diverged, RobustnessError
    from robustness.methods.method import Method, Setting
    from robustness.store import open_store
    from robustness.streams import Streams
    from robustness.study.loading import load_study
    from robustness.tasks.data import Split, TaskData
    from robustness.trainables.trainable import Trainable
    from robustness.trial import EpochResult, Trial
    from robustness.version import __version__

_MODULE_OF = {
    "Diverged": "robustness.errors",
    "EpochResult": "robustness.trial",
    "Method": "robustness.methods.method",
    "Result": "robustness.api.result",
    "RobustnessError": "robustness.errors",
    "Setting": "robustness.methods.method",
    "Split": "robustness.tasks.data",
    "Streams": "robustness.streams",
    "TaskData": "robustness.tasks.data",
    "Trainable": "robustness.trainables.trainable",
    "Trial": "robustness.trial",
    "from_dataframe": "robustness.api.importing",
    "load_study": "robustness.study.loading",
    "log": "robustness.api.spaces",
    "open_store": "robustness.store",
    "__version__": "robustness.version",
    "uniform": "robustness.api.spaces",
}

_PACKAGES = ("bnn", "callbacks", "testing", "sweep")
"""Packages that are public as a whole, by what their own `__all__` names; `sweep` is also the function of that name."""

__all__ = [
    "Diverged",
    "EpochResult",
    "Method",
    "Result",
    "RobustnessError",
    "Setting",
    "Split",
    "Streams",
    "TaskData",
    "Trainable",
    "Trial",
    "__version__",
    "bnn",
    "callbacks",
    "from_dataframe",
    "load_study",
    "log",
    "open_store",
    "sweep",
    "testing",
    "uniform",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
