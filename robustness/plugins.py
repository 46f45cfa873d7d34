"""Code that a study names as `package.module:name`, imported when it is needed.

Studies and executors find trainables here by name, so that neither imports them.
"""

from __future__ import annotations

import importlib
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robustness.errors import StudyFileError

if TYPE_CHECKING:
    from robustness.trainables.trainable import Trainable


def find_object(name: str, setting: str) -> Any:
    """Return the object called `package.module:name`; error messages start with `setting`."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise StudyFileError(f"{setting}: must be package.module:name, found {name!r}")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise StudyFileError(
            f"{setting}: cannot import {module_name!r} ({error}); install it, or put it beside the study file"
        ) from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        near = get_close_matches(attribute, vars(module), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise StudyFileError(f"{setting}: the module {module_name!r} has no {attribute!r}{hint}") from None


def find_trainable(name: str) -> Trainable:
    """Return a built-in trainable by its short name, or a user's own by `package.module:name`."""
    trainable: Trainable = _trainables().find_trainable(name)
    return trainable


def trainable_name(name: str) -> str:
    """Return the name under which a trainable is stored: its short name if `name` is a former, longer one."""
    short: str = _trainables().OLD_NAMES.get(name, name)
    return short


def make_importable(folder: Path) -> None:
    """Let this process import modules from the folder of a study file."""
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.append(path)


def _trainables() -> Any:
    # Imported by name, because trainables themselves import this module and study.
    return importlib.import_module("robustness.trainables")
