"""The sequence of tasks: the images and labels of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from support.files import write_idx_files

from robustness.errors import TaskError
from robustness.trainables.continual.fashion_mnist import load
from robustness.trainables.continual.options import read_task
from robustness.trainables.continual.tasks import Sequence, load_sequence


def sequence(folder: Path, shared_head: bool = False, **options: object) -> Sequence:
    task = {"name": "split_fashion_mnist", "folder": str(folder), "checksums": False}
    return load_sequence(read_task(task | options), shared_head)


def test_five_tasks_have_two_classes_each_in_their_order(tmp_path: Path) -> None:
    loaded = sequence(write_idx_files(tmp_path), shared_head=True)
    for number, task in enumerate(loaded.tasks):
        for part in (task.train, task.validation, task.test):
            assert part.labels.unique().tolist() == [2 * number, 2 * number + 1]  # type: ignore[no-untyped-call]


def test_with_separate_heads_the_labels_of_every_task_are_0_and_1(tmp_path: Path) -> None:
    for task in sequence(write_idx_files(tmp_path)).tasks:
        assert task.train.labels.unique().tolist() == [0, 1]  # type: ignore[no-untyped-call]


def test_the_held_out_images_are_a_tenth_of_each_class(tmp_path: Path) -> None:
    train, _ = load(str(write_idx_files(tmp_path)), checksums=False)
    loaded = sequence(tmp_path, shared_head=True)
    kept = []
    for task in loaded.tasks:
        assert torch.bincount(task.validation.labels).unique().tolist() in ([4], [0, 4])  # type: ignore[no-untyped-call]
        for part in (task.train, task.validation):
            kept += [
                (int(label), image.numpy().tobytes()) for image, label in zip(part.images, part.labels, strict=True)
            ]
    everything = [(int(label), image.tobytes()) for image, label in zip(train.images, train.labels, strict=True)]
    assert sorted(kept) == sorted(everything)


def test_training_pixels_are_normalised_by_their_own_mean_and_deviation(tmp_path: Path) -> None:
    loaded = sequence(write_idx_files(tmp_path))
    images = torch.cat([task.train.images for task in loaded.tasks])
    inputs = loaded.inputs(images, torch.device("cpu")).double().numpy()
    assert inputs.mean() == pytest.approx(0, abs=1e-6)
    assert inputs.std() == pytest.approx(1, abs=1e-6)
    assert loaded.mean == pytest.approx(float(np.mean(images.numpy())))


def test_fewer_tasks_leave_out_the_last_classes(tmp_path: Path) -> None:
    loaded = sequence(write_idx_files(tmp_path), shared_head=True, tasks=2)
    assert torch.cat([task.train.labels for task in loaded.tasks]).unique().tolist() == [0, 1, 2, 3]  # type: ignore[no-untyped-call]


def test_a_class_without_held_out_images_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"classes \[0, 1\]"):
        sequence(write_idx_files(tmp_path, train=3))
