"""Registering the plan of a sweep in the store before anything runs: `robustness plan STUDY --register`."""

from __future__ import annotations

from datetime import UTC, datetime

from robustness.errors import StoreError
from robustness.store import Store, open_store
from robustness.store.provenance import git_commit
from robustness.study.registration import REGISTRATION_NOTE, Entry, make_entry
from robustness.study.study import Study
from robustness.sweep.plan import Plan
from robustness.trial import PENDING
from robustness.version import __version__


def register_plan(url: str | None, study: Study, plan: Plan) -> Entry:
    """Write study and plan to a store and append them to its registration; raises StoreError if a trial has run."""
    with open_store(url) as store:
        return _register(store, study, plan)


def _register(store: Store, study: Study, plan: Plan) -> Entry:
    if study.name in store.names():
        known = store.study(study.name)
        ran = sum(count for status, count in known.counts().items() if status not in PENDING)
        if ran or known.newest_epochs():
            raise StoreError(
                f"study {study.name!r} has already run trials; a plan is registered before anything runs "
                "(rename the study or use another store)"
            )
    stored = store.register(study, plan)
    earlier: list[Entry] = stored.note(REGISTRATION_NOTE) or []
    now = datetime.now(UTC).isoformat(timespec="seconds")
    entry = make_entry(study.document(), plan.configurations, now, git_commit(), __version__, earlier)
    with stored.lock():
        stored.save_note(REGISTRATION_NOTE, [*earlier, entry])
    return entry
