"""Code from outside the project: what a study names as `package.module:name`, and what installed packages offer.

A package offers methods, tasks, trainables and report sections by entry points, and a study then uses their names like
bundled ones:

    [project.entry-points."robustness.methods"]
    swag = "robustness_swag:METHOD"

Studies and executors find trainables here by name, so that neither imports them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from robustness.errors import RobustnessError, StudyFileError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from robustness.trainables.trainable import Trainable

LONGEST_MESSAGE = 400
"""Characters of another module's error in a message."""

Group: TypeAlias = Literal["robustness.methods", "robustness.tasks", "robustness.trainables", "robustness.sections"]
"""The groups of entry points by which installed packages offer their own."""


def find_object(name: str, setting: str) -> Any:
    """Return the object called `package.module:name`; error messages start with `setting`."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise StudyFileError(f"{setting}: must be package.module:name, found {name!r}")
    module = import_users_module(module_name, setting)
    try:
        return getattr(module, attribute)
    except AttributeError:
        near = get_close_matches(attribute, vars(module), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise StudyFileError(f"{setting}: the module {module_name!r} has no {attribute!r}{hint}") from None


def import_users_module(name: str, setting: str) -> ModuleType:
    """Return a module that a study names; importing it runs its code, so whatever that raises becomes one line."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise StudyFileError(
            f"{setting}: cannot import {name!r} ({error}); install it, or put it beside the study file"
        ) from error
    except (Exception, SystemExit, GeneratorExit) as error:
        raise StudyFileError(
            f"{setting}: importing {name!r} failed: {type(error).__name__}{_message(error)}"
        ) from error


@cache
def installed(group: Group) -> Mapping[str, EntryPoint]:
    """Return what installed packages offer in a group, by name; nothing is imported yet.

    Raises `RobustnessError` if two packages offer different objects under one name, since either could be meant.
    """
    # Lazy: it takes a while, and most studies need nothing but what is bundled.
    from importlib.metadata import entry_points

    offered: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        other = offered.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise RobustnessError(
                f"{group}: {entry.name!r} is offered by two installed packages, as {other.value} and as {entry.value}; "
                "uninstall one of them"
            )
    return offered


def load_installed(group: Group, name: str, setting: str) -> Any:
    """Return the object that an installed package offers under a name of `installed(group)`."""
    entry = installed(group)[name]
    try:
        return entry.load()
    except (Exception, SystemExit, GeneratorExit) as error:
        # Importing a package runs its code, which may raise anything.
        package = entry.dist.name if entry.dist else entry.module
        problem = f"{type(error).__name__}{_message(error)}"
        raise StudyFileError(f"{setting}: {name!r} of the package {package!r} cannot be loaded: {problem}") from error


_functions: dict[str, Mapping[str, Callable[..., object]]] = {}


def functions_of(study: str) -> Mapping[str, Callable[..., object]] | None:
    """Return the functions of this process that train a study's arms, by label; None if it has none."""
    return _functions.get(study)


def provide_functions(study: str, functions: Mapping[str, Callable[..., object]]) -> None:
    """Let this process train a study's arms with functions that no module has, such as those of a notebook."""
    _functions[study] = functions


@contextmanager
def functions_provided(study: str, functions: Mapping[str, Callable[..., object]]) -> Iterator[None]:
    """Provide a study's functions within the block, and then those of before again."""
    before = _functions.get(study)
    provide_functions(study, functions)
    try:
        yield
    finally:
        if before is None:
            del _functions[study]
        else:
            _functions[study] = before


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


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        return ""
    return f": {text[:LONGEST_MESSAGE]}" if text else ""


def _trainables() -> Any:
    # Imported by name, because trainables themselves import this module and study.
    return importlib.import_module("robustness.trainables")
