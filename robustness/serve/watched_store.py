"""A store that is looked at again and again: it may not be there yet, be deleted, or be away for a while."""

from __future__ import annotations

import shlex
from contextlib import suppress
from typing import Any

from robustness.errors import RobustnessError
from robustness.serve.live_study import LiveStudy
from robustness.store import Store, open_store
from robustness.store.connection import address, read_url
from robustness.store.hiding import complaint, shown

TOLERATED = 3
"""A look may fail this often in a row before the page says so: a sweep that starts changes how its file is read."""


class WatchedStore:
    """The studies of a store; every method is called in the same thread."""

    def __init__(self, url: str | None) -> None:
        """Raises StoreError if the URL is invalid."""
        location = read_url(url)
        self._option = f" --store {shlex.quote(shown(location))}" if url else ""
        self._address = address(location)
        self._location = location
        self.shown = shown(location)
        self.address = self._address
        """The URL with its password: for opening the store elsewhere, not to be shown."""
        self.problem: str | None = None
        """Why the store cannot be read, in one line; None if it can."""
        self.studies: dict[str, LiveStudy] = {}
        self.states: dict[str, int] = {}
        """A number for each study that differs after every change of it."""
        self._store: Store | None = None
        self._signature: object = None
        self._versions: dict[str, Any] = {}
        self._marks: dict[str, Any] = {}
        self._failures = 0

    def look(self) -> set[str] | None:
        """Read what is new; returns the names of the studies that changed, or None if the store cannot be read."""
        try:
            changed = self._look()
        except Exception as error:
            # A store that another program changes can fail in any way; the page goes on.
            self._fail(self.explained(error))
            return None
        self._failures = 0
        self.problem = None
        for name in changed:
            self.states[name] = self.states.get(name, 0) + 1
        return changed

    def explained(self, error: Exception) -> str:
        """An error in one line, without secrets."""
        if isinstance(error, RobustnessError):
            return str(error)
        return f"unexpected error: {type(error).__name__}: {complaint(error, self._location)}"

    def close(self) -> None:
        """Close the store."""
        store, self._store = self._store, None
        self._signature, self._versions, self._marks, self.studies = None, {}, {}, {}
        if store is not None:
            with suppress(RobustnessError):
                store.close()

    def _look(self) -> set[str]:
        if self._store is None:
            self._store = open_store(self._address, create=False)
        store = self._store
        signature = store.signature()
        if store.is_copy and self._signature not in (None, signature):
            self.close()  # Somebody has written to the file, and so upgraded it.
            return self._look()
        if signature is not None and signature == self._signature:
            return {name for name, study in self.studies.items() if self._has_new_driver(study) and study.look()}
        versions, marks = store.versions(), store.marks()
        changed = {name for name in self._versions if name not in versions}
        for name in changed:
            self.studies.pop(name, None)
        for name, version in versions.items():
            study = self.studies.get(name)
            if study is None or self._versions.get(name) != version:
                study = LiveStudy(store.study(name), self._option)
                study.look()
                changed.add(name)
            elif (
                study.is_locked or marks.get(name) != self._marks.get(name) or self._has_new_driver(study)
            ) and study.look():
                changed.add(name)
            self.studies[name] = study
        # In the order of the store.
        self.studies = {name: self.studies[name] for name in versions}
        self._versions, self._marks, self._signature = versions, marks, signature
        return changed

    def _has_new_driver(self, study: LiveStudy) -> bool:
        return (study.is_locked or study.state != "finished") and study.driver_changed()

    def _fail(self, problem: str) -> None:
        self._failures += 1
        if self._failures > TOLERATED or not self.studies:
            self.close()
            self.problem = problem
