"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

# Read when numpy and torch are loaded: tests share few cores, and threads that wait for each other take most of them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

torch.set_num_threads(1)

LONG = ("ray", "cluster", "report_pages")
"""Groups of tests that take minutes."""


# Runs before xdist's own, which puts the groups into the names of the tests.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each file on one worker, so that what its fixtures make is made once; groups that files name stay as they are.

    Long groups come first, then the files beside the rooms, which run whole programs: no worker waits for them at the
    end.
    """
    if not getattr(config.option, "loadgroup", False):
        return
    order: dict[pytest.Item, tuple[bool, bool]] = {}
    for item in items:
        marked = item.get_closest_marker("xdist_group")
        order[item] = (marked is None or marked.args[0] not in LONG, item.path.parent != config.rootpath / "tests")
        if marked is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    items.sort(key=order.__getitem__)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("dist", "no") == "loadgroup" and pytest.version_tuple >= (9, 2):
        # pytest-dev/pytest-xdist#1386
        raise pytest.UsageError("xdist ignores groups of tests from pytest 9.2 on: install that of constraints.txt")


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """A Ray with 4 CPUs and 2 logical GPUs, whatever this machine has, for all tests of the session that need one."""
    from robustness.execution.ray_session import connected

    with connected(cpus=4, gpus=2):
        yield
