"""A study of another robustness store, copied as it is: document, trials, epochs, curves, notes and predictions."""

from __future__ import annotations

from robustness.errors import RobustnessError, StoreError, plural
from robustness.store import open_store


def copy_studies(path: str, wanted: str | None, name: str, url: str | None, replace: bool, dry_run: bool) -> str:
    """Copy a study of the store in a file under a name, and say so; raises RobustnessError with one line."""
    try:
        source = open_store(f"sqlite:///{path}", create=False)
    except StoreError as problem:
        raise RobustnessError(
            f"{path}: is not a store of robustness ({problem}); write optuna:sqlite:///{path} or mlflow:sqlite:///{path}"
        ) from None
    with source:
        names = source.names()
        if wanted is None and len(names) != 1:
            raise RobustnessError(f"{path}: which study? name it with --source-study (it has: {', '.join(names)})")
        study = source.study(wanted or names[0])
        trials = sum(study.counts().values())
        line = f"study {study.name!r} of {path} with {plural(trials, 'trial')}"
        if dry_run:
            return f"would copy {line} as {name!r}"
        with open_store(url) as store:
            store.copy(study, name, replace)
    return f"copied {line} as {name!r}"
