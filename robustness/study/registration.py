"""A registered plan: study and analysis frozen before anything runs, and every later change.

Each entry has the study's document, the configurations that were drawn, the time, the commit and the version of this
package, and

    hash = SHA-256 of the entry without it, in which `previous` is the hash of the entry before.

An accidental edit of an entry, or an entry lost from the middle, breaks the chain. Whoever can write to the store can
also make a new chain; the printed hash, kept elsewhere, shows that this is not the registered one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from robustness.study.changes import all_differences

REGISTRATION_NOTE = "registration"
"""The note of a study that was registered: a list of entries, oldest first."""


class Entry(TypedDict):
    """One registration of a study."""

    document: dict[str, Any]
    configurations: str
    """SHA-256 of the drawn configurations."""
    time: str
    """UTC, to the second."""
    commit: str | None
    version: str
    previous: str | None
    hash: str


def make_entry(
    document: Mapping[str, Any],
    configurations: Sequence[Mapping[str, Any]],
    time: str,
    commit: str | None,
    version: str,
    earlier: Sequence[Entry] = (),
) -> Entry:
    """The next entry of a study's chain."""
    content: dict[str, Any] = {
        "document": dict(document),
        "configurations": _digest([dict(values) for values in configurations]),
        "time": time,
        "commit": commit,
        "version": version,
        "previous": earlier[-1]["hash"] if earlier else None,
    }
    return {**content, "hash": _digest(content)}  # type: ignore[typeddict-item]


def is_intact(entries: Sequence[Entry]) -> bool:
    """Whether every entry has its hash and names the one before."""
    previous = None
    for entry in entries:
        content = {key: value for key, value in entry.items() if key != "hash"}
        if entry.get("hash") != _digest(content) or entry.get("previous") != previous:
            return False
        previous = entry["hash"]
    return bool(entries)


def changes_since(entry: Entry, document: Mapping[str, Any]) -> list[str]:
    """Every later change of the study, one line each: `training.epochs: 12, now 20`; empty if as registered."""
    return all_differences(entry["document"], document)


def _digest(value: Any) -> str:
    """SHA-256 of JSON; numbers as JSON has them, so that a database that turns 1 into 1.0 changes nothing."""
    return hashlib.sha256(json.dumps(_numbers(value), sort_keys=True).encode()).hexdigest()


def _numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _numbers(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
