"""The contract of a task of classification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from robustness.tasks import TaskData, check_task, fresh_task, task_image_size
from robustness.testing.running import refusal, seed_everything


class TaskContract:
    """What every task promises. Set `task`, as in a study file and as small as it can be."""

    task: ClassVar[Mapping[str, Any]]

    def load(self) -> TaskData:
        """The data, loaded anew."""
        return fresh_task(self.task)

    def test_its_options_are_accepted_and_its_files_are_there(self) -> None:
        check_task(self.task)

    def test_unknown_options_are_refused(self) -> None:
        message = refusal(lambda: check_task({**self.task, "no_such_option": 1}, needs_data=False))
        assert "no_such_option" in message, f"the error does not name the option: {message}"

    def test_splits_have_images_and_labels_in_range(self) -> None:
        data = self.load()
        for name in ("train", "validation", "test"):
            split = getattr(data, name)
            assert split.images.ndim == 4, f"{name}: images must be [n, height, width, channels]"
            assert split.images.dtype == np.uint8, f"{name}: images must be uint8, found {split.images.dtype}"
            assert len(split.images) == len(split.labels) == len(split.patients), f"{name}: lengths differ"
            assert np.issubdtype(split.labels.dtype, np.integer), f"{name}: labels must be integers"
            if len(split):
                low, high = int(split.labels.min()), int(split.labels.max())
                assert 0 <= low <= high < data.classes, f"{name}: labels are {low} to {high}, of {data.classes} classes"
        assert len(data.train) > 0, "train: has no images"
        assert len(np.unique(data.validation.labels)) > 1, "validation: needs at least two classes to be judged by"
        assert data.mean.shape == data.std.shape == (data.channels,), "mean and std need one number for each channel"
        assert (data.std > 0).all(), "std must be above 0"

    def test_no_patient_is_in_two_splits(self) -> None:
        data = self.load()
        splits = {name: set(getattr(data, name).patients.tolist()) for name in ("train", "validation", "test")}
        for first, second in (("train", "validation"), ("train", "test"), ("validation", "test")):
            shared = splits[first] & splits[second]
            assert not shared, f"{len(shared)} patients are in both {first} and {second}"

    def test_loading_again_gives_the_same_data_whatever_the_global_random_state(self) -> None:
        seed_everything(1)
        first = self.load()
        seed_everything(2)
        second = self.load()
        for name in ("train", "validation", "test"):
            one, other = getattr(first, name), getattr(second, name)
            for array in ("images", "labels", "patients"):
                same = np.array_equal(getattr(one, array), getattr(other, array))
                assert same, f"{name}.{array} differs when loaded again"

    def test_the_image_size_is_that_of_the_images(self) -> None:
        size = task_image_size(self.task)
        assert size is None or size == self.load().image_size, "image_size() contradicts the images"
