from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import ray
from support.trials import SMALL_TASK

from robustness.execution import shared_data
from robustness.tasks import load_task, provide_task

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.usefixtures("local_ray")]


def test_arrays_go_through_the_object_store_without_a_copy() -> None:
    task = {**SMALL_TASK, "seed": 77}
    original = load_task(task)
    reference = shared_data.share(task)
    assert reference is not None
    shared = ray.get(reference)
    assert (shared.train.images == original.train.images).all()
    assert not shared.train.images.flags.owndata
    assert shared_data.size(task) >= sum(split.images.nbytes for split in (original.train, original.validation))
    shared_data.provide(task, reference)
    assert not load_task(task).train.images.flags.owndata


def test_mapped_files_are_left_to_each_node(tmp_path: Path) -> None:
    task = {**SMALL_TASK, "seed": 78}
    original = load_task(task)
    np.save(tmp_path / "images.npy", original.train.images)
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    provide_task(task, replace(original, train=replace(original.train, images=mapped[:10])))
    assert shared_data.share(task) is None
    assert shared_data.size(task) == 0
