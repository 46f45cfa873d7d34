"""Merging shards: whether all of them are there and fit together, before anything is written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from robustness.errors import StoreError, plural
from robustness.store.store import Store, merge_parts
from robustness.store.study_store import StudyStore
from robustness.study.changes import differences
from robustness.sweep.outcomes import UNTRAINED_NOTE
from robustness.sweep.shards import SHARD_NOTE, Shard
from robustness.trial import ENDED

SHOWN = 5
"""Missing shards, and differences between studies, that a message names."""


def merge_shards(stores: Mapping[str, Store], target: Store) -> StudyStore:
    """Put the shards in some stores, by the names that messages use, together in another store, in their order.

    Raises StoreError, and writes nothing, if a shard is missing, unfinished, there twice, or of another study.
    """
    studies = {name: _only_study(name, store) for name, store in stores.items()}
    _check_same_study(studies)
    shards = {name: _shard_of(name, study) for name, study in studies.items()}
    ordered = _ordered(shards)
    for name in ordered:
        _check_finished(name, shards[name], studies[name])
    _check_baselines({name: studies[name] for name in ordered})
    name = studies[ordered[0]].name
    if name in target.names():
        raise StoreError(f"store {target.url!r} already holds the study {name!r}: choose another store for --into")
    return merge_parts([studies[name] for name in ordered], target, len(ordered), leave_out=[SHARD_NOTE])


def _only_study(name: str, store: Store) -> StudyStore:
    names = store.names()
    if len(names) != 1:
        found = f"{len(names)} studies ({', '.join(names[:SHOWN])})" if names else "no study"
        raise StoreError(f"{name}: a shard's store holds one study, found {found}")
    return store.study(names[0])


def _check_same_study(studies: Mapping[str, StudyStore]) -> None:
    (first, one), *others = studies.items()
    for name, other in others:
        if other.name != one.name:
            raise StoreError(f"{name}: holds a shard of the study {other.name!r}, but {first} one of {one.name!r}")
        changes = differences(one.document(), other.document())
        if changes:
            raise StoreError(
                f"{name}: holds a shard of another study than {first}: {'; '.join(changes[:SHOWN])} "
                f"(the first value is that of {first})"
            )


def _shard_of(name: str, study: StudyStore) -> Shard:
    note = study.note(SHARD_NOTE)
    if not note:
        raise StoreError(f"{name}: holds the whole study {study.name!r}, not a shard of `robustness sweep --shard`")
    return Shard(int(note["number"]), int(note["of"]))


def _ordered(shards: Mapping[str, Shard]) -> list[str]:
    """Return the stores in the order of their shards; raises StoreError unless each shard is there once."""
    (first, one), *others = shards.items()
    for name, shard in others:
        if shard.of != one.of:
            raise StoreError(f"{name}: holds shard {shard}, but {first} shard {one}: all must be parts of as many")
    by_number: dict[int, str] = {}
    for name, shard in shards.items():
        if shard.number in by_number:
            raise StoreError(f"{name}: holds shard {shard}, and so does {by_number[shard.number]}")
        by_number[shard.number] = name
    missing = [str(Shard(number, one.of)) for number in range(1, one.of + 1) if number not in by_number]
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        which = "shard" if len(missing) == 1 else "shards"
        raise StoreError(f"{which} {', '.join(missing[:SHOWN])}{more} missing: run them, or name their stores")
    return [by_number[number] for number in sorted(by_number)]


def _check_finished(name: str, shard: Shard, study: StudyStore) -> None:
    own = [status for key, status in study.states().items() if key.configuration % shard.of == shard.number - 1]
    left = sum(status not in ENDED for status in own)
    if left:
        raise StoreError(
            f"{name}: shard {shard} has {plural(left, 'trial')} left to run: resume it with --shard {shard}"
        )


def _check_baselines(studies: Mapping[str, StudyStore]) -> None:
    """Raise StoreError unless all shards judge by the same baseline, up to the rounding of different processors."""
    (first, one), *others = studies.items()
    note = one.note(UNTRAINED_NOTE)
    for name, other in others:
        if not _alike(note, other.note(UNTRAINED_NOTE)):
            raise StoreError(
                f"{name}: its baseline of learned_nothing differs from that of {first}, so they judge differently"
            )


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)
