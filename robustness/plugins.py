"""Code that a study names: `package.module:name`, imported when it is needed.

Studies and executors reach trainables through here, by name, so that neither imports any of them.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robustness.errors import StudyFileError

if TYPE_CHECKING:
    from robustness.trainables.trainable import Trainable


def find_object(name: str, setting: str) -> Any:
    """Return the object called `package.module:name`; errors begin with the setting that named it."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise StudyFileError(f"{setting}: {name!r} is not of the form package.module:name")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise StudyFileError(f"{setting}: cannot import {module_name!r} ({error})") from error
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise StudyFileError(f"{setting}: {module_name!r} has no {attribute!r}") from None


def find_trainable(name: str) -> Trainable:
    """Return a built-in trainable by its short name, or a user's own by `package.module:name`."""
    trainable: Trainable = _trainables().find_trainable(name)
    return trainable


def trainable_name(name: str) -> str:
    """Return the name under which a trainable is stored: built-in ones have had longer names before."""
    short: str = _trainables().OLD_NAMES.get(name, name)
    return short


def make_importable(folder: Path) -> None:
    """Let this process import modules from the folder of a study file."""
    path = str(folder.resolve())
    if path not in sys.path:
        sys.path.append(path)


def _trainables() -> Any:
    return importlib.import_module("robustness.trainables")
