from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.store_samples import SampleStudy, plan_of

import robustness
from robustness.errors import StoreError
from robustness.store import Store, StudyStore, open_store

HOLDER = """
import sys, robustness
with robustness.open_store(sys.argv[1]) as store, store.study("sample").lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_sweep_of_a_study_is_told_and_leaves(sample: StudyStore, store: Store, store_url: str) -> None:
    with sample.lock(), open_store(store_url) as other:
        with (
            pytest.raises(StoreError, match="another sweep of study 'sample' is running"),
            other.study("sample").lock(),
        ):
            pass
        # A different study in the same store is not locked.
        free = replace(SampleStudy(), name="other")
        with other.register(free, plan_of(free)).lock():
            pass
    with sample.lock():
        pass


def test_the_lock_of_a_killed_sweep_is_free(sample: StudyStore, store_url: str) -> None:
    root = Path(robustness.__file__).parents[1]
    command = [sys.executable, "-c", HOLDER, store_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(StoreError, match="another sweep"), sample.lock():
                pass
        finally:
            holder.kill()
            holder.wait()
    _lock_within(sample, seconds=60)


def _lock_within(study: StudyStore, seconds: float) -> None:
    """Take the lock, which a server releases only after noticing that its client is gone."""
    import time

    deadline = time.monotonic() + seconds
    while True:
        try:
            with study.lock():
                return
        except StoreError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def test_a_lock_is_given_back_after_an_error(sample: StudyStore) -> None:
    with pytest.raises(ZeroDivisionError), sample.lock():
        raise ZeroDivisionError
    with sample.lock():
        pass


def test_a_study_of_any_name_can_be_locked(store: Store) -> None:
    study = replace(SampleStudy(), name="../a study: ö")
    held = store.register(study, plan_of(study))
    with held.lock():
        pass
