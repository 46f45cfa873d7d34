"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """A Ray with 4 CPUs and 2 logical GPUs, whatever this machine has, for all tests of the session that need one."""
    import ray

    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    from robustness.execution.connection import connected

    with connected(cpus=4, gpus=2):
        yield
    assert not ray.is_initialized()
