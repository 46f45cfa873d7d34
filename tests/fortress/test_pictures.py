"""Photographs of strangers: bounded before they are decoded, and read right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from support.hostile import bmp, encoded, jpeg, mutated, png, tiff

from robustness.errors import TaskError
from robustness.tasks.fundus.label_table import Photograph
from robustness.tasks.fundus.photographs import decode, prepare_picture
from robustness.tasks.fundus.preparation import prepare

BOMBS = {
    "60,000 x 1": png(60_000, 1),
    "1 x 60,000": png(1, 60_000),
    "one bit, 100,000 x 100,000": png(100_000, 100_000, depth=1),
    "16 bits, 30,000 x 30,000": png(30_000, 30_000, depth=16),
    "RGBA, 50,000 x 50,000": png(50_000, 50_000, colour=6),
    "the largest PNG": png(2**31 - 1, 2**31 - 1),
    "6,000 x 6,000": png(6_000, 6_000),
    "wide PNG": png(2**31 - 1, 1),
    "the largest JPEG": jpeg(65_500, 65_500),
    "wide JPEG": jpeg(65_500, 1),
    "BMP, 40,000 x 40,000": bmp(40_000, 40_000),
    "BMP, 2^30 x 1": bmp(2**30, 1),
    "TIFF, 40,000 x 40,000": tiff(40_000, 40_000),
    "TIFF, 10^6 x 10": tiff(1_000_000, 10),
    "PPM, 99,999 x 99,999": b"P6 99999 99999 255\n",
    "PGM, 10^9 x 10^9": b"P5 1000000000 1000000000 65535\n",
    "PBM, 10^6 x 1": b"P4 1000000 1\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_picture_that_would_fill_the_memory_is_refused_by_its_header(name: str) -> None:
    with pytest.raises(TaskError, match=r"exceed the limit of 30,000,000; .*ROBUSTNESS_LIMIT_PICTURE_PIXELS="):
        prepare_picture(BOMBS[name], 64)


def test_the_limit_can_be_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = encoded(np.full((1, 6_000), 255, dtype=np.uint8))
    monkeypatch.setenv("ROBUSTNESS_LIMIT_PICTURE_PIXELS", "5e5")
    with pytest.raises(TaskError, match="36,000,000 pixels"):
        prepare_picture(picture, 16)
    monkeypatch.setenv("ROBUSTNESS_LIMIT_PICTURE_PIXELS", "36000000")
    assert prepare_picture(picture, 16).shape == (16, 16, 3)


def ramp() -> NDArray[np.uint8]:
    """A bright picture that differs from each of its turned versions: [12, 20], from 100 to 255."""
    y, x = np.mgrid[:12, :20]
    pixels: NDArray[np.uint8] = (100 + 5 * y + 4 * x + (y // 6) * (x // 10) * 20).astype(np.uint8)
    return pixels


@pytest.mark.parametrize("file_format", ["PNG", "TIFF", "PPM"])
def test_sixteen_bit_grey_is_scaled_to_eight(file_format: str) -> None:
    content = encoded(ramp().astype(np.uint16) * 257, file_format)
    assert (decode(content, 64) == ramp()[:, :, None]).all()


TURNED: dict[int, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    1: lambda a: a,
    2: np.fliplr,
    3: lambda a: np.rot90(a, 2),
    4: np.flipud,
    5: np.transpose,
    6: lambda a: np.rot90(a, 1),
    7: lambda a: np.rot90(a, 2).T,
    8: lambda a: np.rot90(a, 3),
}
"""How a camera with each EXIF orientation stores an upright picture."""


@pytest.mark.parametrize("orientation", [*TURNED, 0, 9, 65_535])
@pytest.mark.parametrize("file_format", ["PNG", "TIFF"])
def test_a_photograph_is_turned_as_its_camera_was_held(orientation: int, file_format: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = np.ascontiguousarray(TURNED.get(orientation, TURNED[1])(ramp()))
    assert (decode(encoded(stored, file_format, exif=exif), 64) == ramp()[:, :, None]).all()


def test_transparent_pixels_are_black() -> None:
    pixels = np.dstack([np.full((8, 8, 3), 200, dtype=np.uint8), np.full((8, 8), 255, dtype=np.uint8)])
    pixels[:4, :, 3] = 0
    pixels[4, :, 3] = 51
    shown = decode(encoded(pixels), 64)
    assert (shown[:4] == 0).all()
    assert (shown[4] == 40).all()  # A fifth of 200.
    assert (shown[5:] == 200).all()


def test_palettes_alpha_cmyk_and_bits_are_read(tmp_path: Path) -> None:
    grey = Image.fromarray(ramp())
    palette = grey.convert("P")
    palette.save(tmp_path / "palette.png")
    palette.save(tmp_path / "transparent.png", transparency=int(ramp()[0, 0]))
    Image.merge("LA", (grey, Image.new("L", grey.size, 255))).save(tmp_path / "la.png")
    grey.convert("1", dither=Image.Dither.NONE).save(tmp_path / "bits.png")
    red = Image.new("RGB", (8, 8), (255, 0, 0))
    red.convert("CMYK").save(tmp_path / "cmyk.tiff")
    assert (decode((tmp_path / "palette.png").read_bytes(), 64)[..., 0] == ramp()).all()
    transparent = decode((tmp_path / "transparent.png").read_bytes(), 64)
    assert transparent[0, 0].tolist() == [0, 0, 0]
    assert transparent[-1, -1].min() == ramp()[-1, -1]
    assert (decode((tmp_path / "la.png").read_bytes(), 64)[..., 1] == ramp()).all()
    assert set(np.unique(decode((tmp_path / "bits.png").read_bytes(), 64))) == {0, 255}
    assert decode((tmp_path / "cmyk.tiff").read_bytes(), 64)[4, 4].tolist() == [255, 0, 0]


def test_pixels_of_unknown_scale_are_refused(tmp_path: Path) -> None:
    for number, pixels in enumerate((np.ones((8, 8), dtype=np.float32), np.ones((8, 8), dtype=np.int32))):
        Image.fromarray(pixels).save(tmp_path / f"{number}.tiff")
        with pytest.raises(TaskError, match="32 bits"):
            decode((tmp_path / f"{number}.tiff").read_bytes(), 64)


def test_damaged_pictures_leave_the_others_prepared(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    images, plan = tmp_path / "images", []
    images.mkdir()
    whole = [encoded(rng.integers(0, 256, (20, 20, 3), dtype=np.uint8), kind) for kind in ("PNG", "JPEG", "TIFF")]
    for number in range(60):
        content = whole[number % 3] if number < 12 else mutated(whole[number % 3], rng)
        (images / f"{number}.png").write_bytes(list(BOMBS.values())[number % len(BOMBS)] if number > 50 else content)
        split = ("train", "validation", "test")[number % 3]
        plan.append(Photograph(str(number), number % 5, str(number), split))
    prepared = prepare(images, plan, 16, tmp_path / "out")
    assert sum(prepared.counts.values()) >= 12
    assert len(prepared.unreadable) >= 9
    assert sum(prepared.counts.values()) + len(prepared.unreadable) == 60
    assert all(reason.isprintable() for _, reason in prepared.unreadable)
