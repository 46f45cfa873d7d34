"""The arms' methods, a module each. A user's own is a `Method` that a study names as `package.module:name`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from robustness.errors import MethodError, StudyFileError, unknown_name
from robustness.trial import find_object

if TYPE_CHECKING:
    from robustness.methods.method import Method

METHODS = (
    "deep_ensemble",
    "deterministic",
    "mc_dropout",
    "mfvi",
    "mfvi_noise_matched",
    "mfvi_scaled",
    "mfvi_truncated",
    "mfvi_tweaked",
    "radial",
    "radial_ensemble",
)
"""The bundled methods."""


def find_method(name: str) -> Method:
    """The method called so: a bundled one, or a user's own."""
    from robustness.methods.method import Method

    if ":" in name:
        try:
            found = find_object(name, "arm")
        except StudyFileError as error:
            raise MethodError(str(error)) from None
        if not isinstance(found, Method):
            raise MethodError(f"arm: {name!r} is a {type(found).__name__}, not a robustness.methods.method.Method")
        return found
    if name not in METHODS:
        raise MethodError(unknown_name("arm", name, METHODS))
    method: Method = importlib.import_module(f"robustness.methods.{name}").METHOD
    return method


def read_method_options(name: str, options: Mapping[str, Any]) -> Any:
    """The typed options of a method; a bad one is named."""
    from pydantic import ValidationError

    kind = find_method(name).options
    for key in options:
        if key not in kind.model_fields:
            if not kind.model_fields:
                raise MethodError(f"arm {name} takes no options, but {key!r} is given")
            raise MethodError(unknown_name(f"option of arm {name}:", key, kind.model_fields))
    try:
        return kind.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise MethodError(f"arm {name}, {key}: {first['msg']}, not {first['input']!r}") from None


def check_method(name: str, options: Mapping[str, Any]) -> None:
    """Raise a `MethodError` unless there is such a method and it takes these options."""
    read_method_options(name, options)
