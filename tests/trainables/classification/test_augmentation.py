from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from robustness.trainables.classification.augmentation import augment, random_maps


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def fixed_draws(monkeypatch: pytest.MonkeyPatch, **draws: float) -> None:
    """Make all random numbers 0.5, which leaves an image unchanged, except for the named ones."""
    places = {"flip_x": 0, "flip_y": 1, "angle": 2, "pad": 3, "pad_place": 5, "scale": 7, "crop_place": 8}
    numbers = torch.full((1, 10), 0.5)
    for name, value in draws.items():
        numbers[0, places[name]] = value
    monkeypatch.setattr(torch, "rand", lambda count, *_, **__: numbers.expand(count, -1))


def sample_images() -> Tensor:
    return torch.arange(2 * 3 * 8 * 8, dtype=torch.float32).reshape(2, 3, 8, 8) / 384


def test_the_centre_of_all_ranges_leaves_images_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed_draws(monkeypatch)
    torch.testing.assert_close(augment(sample_images(), generator()), sample_images(), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        ({"flip_x": 0.1}, lambda images: images.flip(3)),
        ({"flip_y": 0.1}, lambda images: images.flip(2)),
        ({"angle": 1.0}, lambda images: images.flip(2, 3)),
        ({"angle": 0.75}, lambda images: torch.rot90(images, 1, (2, 3))),
        ({"angle": 0.25}, lambda images: torch.rot90(images, -1, (2, 3))),
    ],
)
def test_flips_and_right_angles_permute_pixels(monkeypatch, draws, expected) -> None:  # type: ignore[no-untyped-def]
    fixed_draws(monkeypatch, **draws)
    torch.testing.assert_close(augment(sample_images(), generator()), expected(sample_images()), atol=1e-5, rtol=0)


def test_padding_by_five_percent_shifts_by_five_percent_and_fills_with_black(monkeypatch: pytest.MonkeyPatch) -> None:
    images = torch.ones(1, 1, 20, 20)
    fixed_draws(monkeypatch, pad=1.0, pad_place=1.0)
    shifted = augment(images, generator())
    torch.testing.assert_close(shifted[..., :19], images[..., :19])
    torch.testing.assert_close(shifted[..., 19], torch.zeros(1, 1, 20), atol=1e-4, rtol=0)


def test_a_crop_to_110_percent_shrinks_the_image_with_a_black_border(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed_draws(monkeypatch, scale=1.0)
    area = augment(torch.ones(1, 1, 200, 200), generator()).mean().item()
    assert area == pytest.approx(1 / 1.1**2, abs=0.005)


def test_maps_have_the_papers_ranges() -> None:
    maps = random_maps(20_000, generator())
    scale = maps[:, :, :2].det().abs().sqrt()
    assert scale.min().item() == pytest.approx(0.9, abs=1e-3)
    assert scale.max().item() == pytest.approx(1.1, abs=1e-3)
    assert (maps[:, :, :2].det() < 0).float().mean().item() == pytest.approx(0.5, abs=0.02)
    angle = torch.atan2(maps[:, 1, 0], maps[:, 0, 0])
    counts = torch.histc(angle, 8, -math.pi, math.pi)
    assert (counts / 20_000 - 1 / 8).abs().max().item() < 0.01
    # A shift comes from at most 5 % of padding, 0.1 in coordinates, and |1 - scale| from the crop.
    shift = maps[:, :, :2].inverse() @ maps[:, :, 2:] * scale[:, None, None]
    assert (shift.abs().amax((1, 2)) <= 0.1 + (1 - scale).abs() + 1e-5).all()


def test_rotating_a_wide_image_does_not_distort_it() -> None:
    maps = random_maps(50, generator(), aspect=2.0)
    to_pixels = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    rotated = to_pixels @ maps[:, :, :2] @ to_pixels.inverse()
    gram = rotated.transpose(1, 2) @ rotated
    torch.testing.assert_close(gram, gram[:, :1, :1] * torch.eye(2), atol=1e-5, rtol=0)


def test_the_same_seed_augments_identically_and_keeps_the_memory_format() -> None:
    images = torch.rand(4, 3, 16, 16, generator=generator()).contiguous(memory_format=torch.channels_last)
    first, again = augment(images, generator(1)), augment(images, generator(1))
    assert torch.equal(first, again)
    assert not torch.equal(first, augment(images, generator(2)))
    assert first.is_contiguous(memory_format=torch.channels_last)
    assert first.dtype == images.dtype


def test_the_number_of_random_draws_does_not_depend_on_the_images() -> None:
    one, other = generator(3), generator(3)
    augment(torch.zeros(5, 3, 16, 16), one)
    augment(torch.rand(5, 1, 32, 32, generator=generator()), other)
    assert torch.equal(one.get_state(), other.get_state())
