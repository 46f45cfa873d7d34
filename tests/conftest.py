"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

# Read when numpy and torch are loaded: tests share few cores, and threads that wait for each other take most of them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """A Ray with 4 CPUs and 2 logical GPUs, whatever this machine has, for all tests of the session that need one."""
    from robustness.execution.ray_session import connected

    with connected(cpus=4, gpus=2):
        yield
