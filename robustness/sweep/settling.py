"""What the machine decides about a study, such as `precision: auto`: made once, then part of the registered study."""

from __future__ import annotations

from robustness.plugins import find_trainable
from robustness.store.store import Store
from robustness.study.study import Study


def settled(study: Study, store: Store | None, here: bool = True) -> Study:
    """Return the study as it is registered; raises a one-line error if its trials cannot run on this machine.

    A study in the store keeps the choices that it was registered with. `here` is False if trials run on other machines.
    """
    settle = find_trainable(study.trainable).settle
    if settle is None:
        return study
    known = store is not None and study.name in store.names()
    return settle(study, store.study(study.name).document() if store is not None and known else None, here)
