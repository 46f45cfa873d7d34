"""A study of another robustness store or in an archive, copied as it is: document, plan, results and notes."""

from __future__ import annotations

from pathlib import Path

from robustness.errors import RobustnessError, StoreError, plural
from robustness.importing.files import is_archive, is_database
from robustness.store import Store, open_store
from robustness.store.archive_reading import read_archive
from robustness.study.arms import check_label
from robustness.trial import PENDING


def holds_studies(place: str) -> bool:
    """Whether a path is a store or an archive, by its content."""
    return is_database(place) or is_archive(place)


def copy_studies(path: str, wanted: str | None, name: str | None, url: str | None, replace: bool, dry_run: bool) -> str:
    """Copy a study of the store or archive in a file, and say so; raises RobustnessError with one line.

    Without a name it keeps its own.
    """
    with _opened(path) as source:
        names = source.names()
        if wanted is None and len(names) != 1:
            raise RobustnessError(f"{path}: which study? name it with --source-study (it has: {', '.join(names)})")
        study = source.study(wanted or names[0])
        name = name or study.name
        check_label(name, f"{path}: the name of the study")
        counts = study.counts()
        left = sum(counts.get(status, 0) for status in PENDING)
        line = f"study {study.name!r} of {path} with {plural(sum(counts.values()), 'trial')}"
        line += f", {left:,} of them left to run," if left else ""
        if dry_run:
            return f"would copy {line} as {name!r}"
        with open_store(url) as store:
            store.copy(study, name, replace)
    return f"copied {line} as {name!r}"


def _opened(path: str) -> Store:
    if is_archive(path):
        return read_archive(Path(path))
    try:
        return open_store(f"sqlite:///{path}", create=False)
    except StoreError as problem:
        raise RobustnessError(
            f"{path}: is not a store of robustness ({problem}); write optuna:sqlite:///{path} or mlflow:sqlite:///{path}"
        ) from None
