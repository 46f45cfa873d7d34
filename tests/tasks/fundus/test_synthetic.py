from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from robustness import metrics
from robustness.tasks import TaskData, load_task
from robustness.tasks.fundus.synthetic import Options, load
from robustness.trainables.classification.augmentation import augment


def small(**changes: int | float) -> TaskData:
    return load(Options(**{"image_size": 16, "train": 70, "validation": 10, "test": 6, **changes}))  # type: ignore[arg-type]


def test_the_same_seed_draws_the_same_images_and_a_different_seed_does_not() -> None:
    first, again, other = small(), small(), small(seed=1)
    for name in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(first, name).images, getattr(again, name).images)
        np.testing.assert_array_equal(getattr(first, name).grades, getattr(again, name).grades)
    assert not np.array_equal(first.train.images, other.train.images)
    assert not np.array_equal(first.train.images[:10], first.validation.images)


def test_a_smaller_set_is_a_prefix_of_a_larger_one() -> None:
    shorter, longer = small(train=67).train, small(train=130).train
    np.testing.assert_array_equal(shorter.images, longer.images[:67])
    assert longer.grades is not None
    np.testing.assert_array_equal(shorter.grades, longer.grades[:67])


@pytest.mark.parametrize("size", [16, 33, 128, 512])
def test_images_have_the_right_shape_and_dtype_at_any_size(size: int) -> None:
    data = small(image_size=size, train=3, validation=2, test=0)
    assert data.train.images.shape == (3, size, size, 3)
    assert data.train.images.dtype == np.uint8
    assert data.train.labels.dtype == data.train.patients.dtype == np.int64
    assert len(data.test) == 0
    assert (data.image_size, data.channels, data.classes) == (size, 3, 2)
    assert data.mean.shape == data.std.shape == (3,)


def test_a_larger_image_shows_the_same_eye() -> None:
    fine = small(image_size=128, train=8, poor_quality=0.0).train.images.astype(float)
    coarse = small(image_size=32, train=8, poor_quality=0.0).train.images.astype(float)
    pooled = fine.reshape(8, 32, 4, 32, 4, 3).mean(axis=(2, 4))
    for large, small_image in zip(pooled, coarse, strict=True):
        assert np.corrcoef(large.ravel(), small_image.ravel())[0, 1] > 0.97


def test_labels_follow_grades_and_healthy_eyes_are_the_most_frequent() -> None:
    data = load_task({"name": "synthetic_fundus", "image_size": 16, "train": 1200})
    assert data.train.grades is not None
    np.testing.assert_array_equal(data.train.labels, data.train.grades >= 2)
    counts = np.bincount(data.train.grades, minlength=5)
    assert (counts > 20).all()
    assert counts.argmax() == 0
    assert 0.3 < data.train.labels.mean() < 0.45


def test_no_patient_is_in_two_splits_and_both_eyes_mostly_have_the_same_grade() -> None:
    data = small(train=401, validation=200, test=200)
    groups = [set(split.patients.tolist()) for split in (data.train, data.validation, data.test)]
    assert not groups[0] & groups[1]
    assert not groups[0] & groups[2]
    assert not groups[1] & groups[2]
    assert data.train.grades is not None
    pairs = data.train.grades[:400].reshape(-1, 2)
    np.testing.assert_array_equal(data.train.patients[:400:2], data.train.patients[1:400:2])
    assert (pairs[:, 0] == pairs[:, 1]).mean() > 0.6


def short_vgg(channels: int) -> nn.Module:
    """Seven convolutions with global mean and max pooling, defined here to be independent of the package."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers: list[nn.Module] = []
            before = 3
            for width in (1, 1, 0, 2, 2, 0, 4, 4, 4, 0):
                if width == 0:
                    layers.append(nn.MaxPool2d(2))
                    continue
                layer = nn.Conv2d(before, width * channels, 3, padding=1)
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                layers += [layer, nn.ReLU()]
                before = width * channels
            self.features = nn.Sequential(*layers)
            self.head = nn.Linear(8 * channels, 2)

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            maps = self.features(images)
            logits: torch.Tensor = self.head(torch.cat([maps.mean((2, 3)), maps.amax((2, 3))], dim=1))
            return logits

    return Net()


def test_a_small_deterministic_vgg_learns_it_gradually_and_imperfectly() -> None:
    torch.set_num_threads(1)
    data = load_task({"name": "synthetic_fundus"})
    mean, std = (torch.from_numpy(value)[:, None, None] for value in (data.mean, data.std))
    images = torch.from_numpy(data.train.images).permute(0, 3, 1, 2) / 255
    unseen = (torch.from_numpy(data.validation.images).permute(0, 3, 1, 2) / 255 - mean) / std
    labels = torch.from_numpy(data.train.labels)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = short_vgg(16).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, amsgrad=True)
    generator = torch.Generator().manual_seed(0)
    for _ in range(6):
        for batch in torch.randperm(len(images), generator=generator).split(32):  # type: ignore[no-untyped-call]
            seen = ((augment(images[batch], generator) - mean) / std).contiguous(memory_format=torch.channels_last)
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(seen), labels[batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    with torch.no_grad():
        scores = model(unseen.contiguous(memory_format=torch.channels_last)).softmax(dim=1)[:, 1]
    assert 0.80 < metrics.auc(data.validation.labels, scores.numpy()) < 0.97
