"""The arms of a study: the methods under comparison and their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from robustness.errors import StudyFileError, shown
from robustness.guards.printable import escaped

LONGEST_LABEL = 100


@dataclass(frozen=True)
class Arm:
    """One method under comparison."""

    label: str
    """Its name in the study, the store and the report."""
    method: str
    """A bundled method or `package.module:name`; for a user's own trainable, any name that it understands."""
    options: Mapping[str, Any] = field(default_factory=dict)


def read_arms(entries: Sequence[str | Mapping[str, Any]]) -> tuple[Arm, ...]:
    """Return the arms of a study, each listed as `mfvi` or `{name: label, method: mfvi, initial_rho: -6}`."""
    arms: list[Arm] = []
    labels: set[str] = set()
    for position, entry in enumerate(entries):
        arm = _read_arm(entry, f"arms.{position}")
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


def _read_arm(entry: str | Mapping[str, Any], place: str) -> Arm:
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
    return Arm(label, method, {key: value for key, value in entry.items() if key not in ("name", "method")})


def check_label(label: str, place: str) -> None:
    """Raise unless a label can be used in a line of text, a table and a file name."""
    printable = label.isprintable() and escaped(label) == label
    if not label or label != label.strip() or not printable or len(label) > LONGEST_LABEL:
        raise StudyFileError(f"{place}: must be 1 to {LONGEST_LABEL} printable characters, found {shown(label)}")
    if "/" in label or "\\" in label or label.startswith("."):
        raise StudyFileError(f"{place}: must have no / or \\ in it and not start with a dot, found {shown(label)}")
