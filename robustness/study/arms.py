"""The arms of a study: the methods under comparison and their labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias

from robustness.errors import StudyFileError, shown
from robustness.guards.printable import escaped
from robustness.space.space import EMPTY, Space

LONGEST_LABEL = 100
OWN_SECTIONS = ("space", "training", "model")
"""Sections of a study that an arm may have for itself."""


@dataclass(frozen=True)
class Arm:
    """One method under comparison."""

    label: str
    """Its name in the study, the store and the report."""
    method: str
    """A bundled method or `package.module:name`; for a user's own trainable, any name that it understands."""
    options: Mapping[str, Any] = field(default_factory=dict)
    space: Space | None = None
    """Its own options, drawn beside those of the study's `space`."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Where it departs from the study's `training`."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """Where it departs from the study's `model`."""

    @property
    def has_own_sections(self) -> bool:
        """Whether anything but its method differs from the study."""
        return self.space is not None or bool(self.training) or bool(self.model)

    def document(self) -> dict[str, Any]:
        """The arm in its study's document; its own sections only where it has them, as before they existed."""
        own = {"space": self.space.data if self.space else {}, "training": self.training, "model": self.model}
        named = {"label": self.label, "method": self.method, "options": dict(self.options)}
        return named | {name: dict(section) for name, section in own.items() if section}


ReadSpace: TypeAlias = Callable[[str | Mapping[str, Any], str], Space]
"""Reads the space in an entry of the study file, given the entry's place for messages."""


def read_arms(
    entries: Sequence[str | Mapping[str, Any]], read_space: ReadSpace | None = None, shared: Space = EMPTY
) -> tuple[Arm, ...]:
    """Return the arms of a study, each listed as `mfvi` or `{name: label, method: mfvi, initial_rho: -6}`.

    `read_space` reads an arm's own space, which must have no option of the `shared` one.
    """
    arms: list[Arm] = []
    labels: set[str] = set()
    for position, entry in enumerate(entries):
        arm = _read_arm(entry, f"arms.{position}", read_space, shared)
        if arm.label in labels:
            raise StudyFileError(f"arms.{position}: the arm {shown(arm.label)} appears twice; give it another name")
        arms.append(arm)
        labels.add(arm.label)
    return tuple(arms)


def compared_arms(labels: Sequence[str], fixed: str | None) -> list[tuple[str, str]]:
    """Return the two arms of every comparison: every two, or each other arm with `fixed`, which then comes first."""
    if fixed is None:
        return list(combinations(labels, 2))
    return [(fixed, label) for label in labels if label != fixed]


def is_paired(document: Mapping[str, Any]) -> bool:
    """Whether the arms of a stored study share their configurations: not if each draws from its own space alone.

    An import knows it from the runs themselves.
    """
    imported = document.get("imported") or {}
    if "paired" in imported:
        return bool(imported["paired"])
    return bool(document.get("space")) or not any(arm.get("space") for arm in document["arms"])


def _read_arm(
    entry: str | Mapping[str, Any], place: str, read_space: ReadSpace | None = None, shared: Space = EMPTY
) -> Arm:
    if isinstance(entry, str):
        entry = {"method": entry}
    for key in ("name", "method"):
        if key in entry and not isinstance(entry[key], str):
            raise StudyFileError(f"{place}.{key}: must be text, found {shown(entry[key])}")
    method = entry.get("method", entry.get("name"))
    if method is None:
        raise StudyFileError(f"{place}: needs a name or a method, found {shown(dict(entry))}")
    # The label of a user's own `package.module:name` is `name`.
    label = str(entry.get("name", method.rpartition(":")[2]))
    check_label(label, f"{place}.name")
    own: dict[str, Any] = {}
    for section in OWN_SECTIONS if read_space else ():
        found = entry.get(section, {})
        if not isinstance(found, Mapping) and not (section == "space" and isinstance(found, str)):
            raise StudyFileError(f"{place}.{section}: must be a mapping of keys to values, found {shown(found)}")
        own[section] = found
    options = {key: value for key, value in entry.items() if key not in ("name", "method", *own)}
    space = read_space(own["space"], f"{place}.space") if read_space and own["space"] else None
    for name in sorted(shared.options.names() & space.options.names()) if space else ():
        raise StudyFileError(
            f"{place}.space: {name!r} is also in the study's space, from which all arms draw alike: keep one of the two"
        )
    return Arm(label, method, options, space, own.get("training", {}), own.get("model", {}))


def check_label(label: str, place: str) -> None:
    """Raise unless a label can be used in a line of text, a table and a file name."""
    printable = label.isprintable() and escaped(label) == label
    if not label or label != label.strip() or not printable or len(label) > LONGEST_LABEL:
        raise StudyFileError(f"{place}: must be 1 to {LONGEST_LABEL} printable characters, found {shown(label)}")
    if "/" in label or "\\" in label or label.startswith("."):
        raise StudyFileError(f"{place}: must have no / or \\ in it and not start with a dot, found {shown(label)}")
