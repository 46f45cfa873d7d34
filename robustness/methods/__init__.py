"""The methods under comparison: each module has a record `METHOD`, and importing it does not import torch.

A user's own method is a `Method` that a study refers to as `package.module:name`, or by the name under which an
installed package offers it (entry points of the group `robustness.methods`).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from robustness.errors import MethodError, StudyFileError, unknown_name
from robustness.methods.method import Method
from robustness.plugins import find_object, installed, load_installed
from robustness.validation import read_options

_SHARED = ("method", "variational")
METHODS = tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name not in _SHARED))
"""The bundled methods: every module of this package except the shared ones."""


def method_names() -> list[str]:
    """The names of bundled methods and of those of installed packages."""
    return [*METHODS, *(name for name in installed("robustness.methods") if name not in METHODS)]


def find_method(name: str) -> Method:
    """Return a bundled or installed method by name, or a user's own by `package.module:name`."""
    if name in METHODS:
        bundled: Method = importlib.import_module(f"{__name__}.{name}").METHOD
        return bundled
    if ":" not in name and name not in installed("robustness.methods"):
        raise MethodError(unknown_name("arm", name, method_names()))
    try:
        method = find_object(name, "arm") if ":" in name else load_installed("robustness.methods", name, "arm")
    except StudyFileError as error:
        raise MethodError(str(error)) from None
    if not isinstance(method, Method):
        raise MethodError(f"arm: {name!r} is a {type(method).__name__}, not a {Method.__module__}.Method")
    return method


def read_method_options(name: str, options: Mapping[str, Any]) -> Any:
    """Return the typed options of a method; raises `MethodError` if there is no such method or option."""
    kind = find_method(name).options
    if options and not kind.model_fields:
        raise MethodError(f"arm {name} takes no options, found {next(iter(options))!r}")
    return read_options(kind, options, f"arm {name}", MethodError)
