"""Registering a study and its plan before anything runs; a known study may be the same or extended."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import Connection, bindparam, delete, func, insert, select, text, update

from robustness.errors import StoreError
from robustness.store import encoding, provenance
from robustness.store.checksums import of_json
from robustness.store.schema import configurations, notes, studies, trials
from robustness.store.statements import upsert
from robustness.study.changes import differences, extends
from robustness.study.registration import REGISTRATION_NOTE
from robustness.trial import SEARCH_BLOCK, Trial, TrialKey

SHOWN_DIFFERENCES = 10
CURVES_NOTE = "keeps_curves"
"""The note of a study whose curves the report reads."""


class StudyLike(Protocol):
    """The part of `robustness.study.study.Study` that the store uses."""

    @property
    def name(self) -> str: ...

    @property
    def hash(self) -> str: ...

    @property
    def keeps_curves(self) -> bool: ...

    def document(self) -> dict[str, Any]: ...


class PlanLike(Protocol):
    """The part of `robustness.sweep.plan.Plan` that the store uses: the trials in running order."""

    @property
    def trials(self) -> Sequence[Trial]: ...


def register(connection: Connection, study: StudyLike, plan: PlanLike) -> None:
    """Add the study and its trials to the store; raises StoreError if it holds a different study of that name."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('robustness register'))"))
    document = encoding.loads(encoding.dumps(study.document()))
    stored = connection.execute(
        select(studies.c.id, studies.c.hash, studies.c.document).where(studies.c.name == study.name)
    ).one_or_none()
    if stored is None:
        row = insert_study(connection, study, document)
    else:
        row = stored.id
        if stored.hash != study.hash and not _discard_unstarted(connection, row):
            _refuse_different(study.name, stored.document, document)
        if stored.document != document or stored.hash != study.hash:
            connection.execute(
                update(studies)
                .where(studies.c.id == row)
                .values(document=document, hash=study.hash, checksum=of_json(document))
            )
    if study.keeps_curves:
        # The report needs to know this without importing the trainable.
        note = {"study": row, "name": CURVES_NOTE, "content": True, "checksum": of_json(True)}
        connection.execute(upsert(connection.dialect.name, notes), note)
    add_trials(connection, row, study.name, plan.trials, first=0)


def _discard_unstarted(connection: Connection, row: int) -> bool:
    """Discard the plan of a registered study of which nothing has run, so that it may still change; whether it was."""
    registered = select(notes.c.name).where(notes.c.study == row, notes.c.name == REGISTRATION_NOTE)
    begun = select(trials.c.id).where(trials.c.study == row, trials.c.status != "planned")
    if connection.execute(registered).first() is None or connection.execute(begun).first() is not None:
        return False
    for table in (trials, configurations):
        connection.execute(delete(table).where(table.c.study == row))
    return True


def insert_study(connection: Connection, study: StudyLike, document: Mapping[str, Any]) -> int:
    """Add the row of a study and return its number."""
    row = connection.scalar(
        insert(studies)
        .values(
            name=study.name,
            document=document,
            hash=study.hash,
            seed=(document.get("sampling") or {}).get("seed"),
            versions=provenance.versions(),
            git_commit=provenance.git_commit(),
            hardware=provenance.hardware(),
            created=time.time(),
            checksum=of_json(document),
        )
        .returning(studies.c.id)
    )
    return int(row)


def _refuse_different(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    if extends(old, new):
        return
    changes = differences(old, new)
    kept = "" if old.get("stop") else ", replicates"
    more = f"; and {len(changes) - SHOWN_DIFFERENCES} more" if len(changes) > SHOWN_DIFFERENCES else ""
    raise StoreError(
        f"study {name!r} is already in the store with different settings, so new results cannot be added to it: "
        f"{'; '.join(changes[:SHOWN_DIFFERENCES])}{more} (rename the study or use another store; "
        f"configurations{kept}, arms, tasks, runs and searches can be added, not removed)"
    )


def next_position(connection: Connection, study: int) -> int:
    """The next free position in the study's running order."""
    last = connection.scalar(select(func.max(trials.c.position)).where(trials.c.study == study))
    return 0 if last is None else last + 1


def next_configuration(connection: Connection, study: int, search: int = 0) -> int:
    """The next free number for a configuration of the study, in the block of one of its searches."""
    first, beyond = search * SEARCH_BLOCK, (search + 1) * SEARCH_BLOCK
    numbers = configurations.c.number
    own = (configurations.c.study == study) & (numbers >= first) & (numbers < beyond)
    last = connection.scalar(select(func.max(numbers)).where(own))
    if last == beyond - 1:
        raise StoreError(f"search {search + 1} has used all {SEARCH_BLOCK:,} numbers for configurations")
    return first if last is None else int(last) + 1


def add_trials(connection: Connection, study: int, name: str, plan: Iterable[Trial], first: int) -> None:
    """Write new configurations and trials, in running order from position `first`."""
    plan = list(plan)
    drawn = {trial.configuration: _shared(trial) for trial in plan}
    known = select(configurations.c.number, configurations.c.hyperparameters).where(configurations.c.study == study)
    held: dict[int, Any] = {row.number: row.hyperparameters for row in connection.execute(known)}
    for number, values in drawn.items():
        if number in held and held[number] != encoding.loads(encoding.dumps(values)):
            raise StoreError(
                f"study {name!r}: configuration {number} is {held[number]} in the store, and {values} in the plan; "
                "stored configurations must not change"
            )
    _insert_rows(
        connection,
        configurations,
        [
            {"study": study, "number": number, "hyperparameters": values, "checksum": of_json(values)}
            for number, values in drawn.items()
            if number not in held
        ],
    )
    columns = (*(trials.c[name] for name in TrialKey._fields), trials.c.id, trials.c.position, trials.c.own)
    stored = {
        TrialKey(*key): (row, position, own or {})
        for *key, row, position, own in connection.execute(select(*columns).where(trials.c.study == study))
    }
    new, moved = [], []
    for position, trial in enumerate(plan, start=first):
        own = {name: trial.hyperparameters[name] for name in trial.own}
        if trial.key in stored and stored[trial.key][2] != encoding.loads(encoding.dumps(own)):
            raise StoreError(
                f"study {name!r}: trial {trial.key} has {stored[trial.key][2]} from its arm's own space in the store, "
                f"and {own} in the plan; stored configurations must not change"
            )
        if trial.key not in stored:
            new.append(
                {
                    "study": study,
                    **trial.key._asdict(),
                    "position": position,
                    "stage": trial.stage,
                    "run": trial.run,
                    "own": own or None,
                    "own_checksum": of_json(own) if own else None,
                    "status": "planned",
                    "attempts": 0,
                }
            )
        elif stored[trial.key][1] != position:
            moved.append({"row": stored[trial.key][0], "new_position": position})
    _insert_rows(connection, trials, new)
    if moved:
        connection.execute(
            update(trials).where(trials.c.id == bindparam("row")).values(position=bindparam("new_position")), moved
        )


def _shared(trial: Trial) -> dict[str, Any]:
    """The hyperparameters that all arms of a configuration have in common."""
    return {name: value for name, value in trial.hyperparameters.items() if name not in trial.own}


def _insert_rows(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)
