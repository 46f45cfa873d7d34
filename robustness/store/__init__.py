"""The SQL store: every study, trial and epoch, in SQLite by default and in PostgreSQL by URL."""

from __future__ import annotations

from robustness.store.store import Store, open_store
from robustness.store.study_store import StudyStore
from robustness.store.writer import Writer

__all__ = ["Store", "StudyStore", "Writer", "open_store"]
