from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from robustness.errors import TaskError
from robustness.tasks.fundus.photographs import Source, crop_to_fundus, prepare_picture


def eye(height: int, width: int, centre: tuple[int, int], radius: int, background: int = 3) -> NDArray[np.uint8]:
    """An orange disc on a uniform background."""
    y, x = np.mgrid[:height, :width]
    image = np.full((height, width, 3), background, dtype=np.uint8)
    image[(y - centre[0]) ** 2 + (x - centre[1]) ** 2 <= radius**2] = (200, 110, 60)
    return image


@pytest.mark.parametrize("background", [0, 8, 255])
def test_an_image_is_cropped_to_the_eye_on_a_black_dark_or_white_background(background: int) -> None:
    cropped = crop_to_fundus(eye(200, 300, (90, 160), 70, background))
    assert cropped.shape[0] == pytest.approx(141, abs=4)
    assert cropped.shape[1] == pytest.approx(141, abs=4)
    assert cropped[70, 70].tolist() == [200, 110, 60]
    assert cropped[0, 0].max() <= 8


def test_a_bright_speck_outside_the_eye_is_cropped_off() -> None:
    image = eye(200, 300, (100, 150), 60)
    image[2:4, 2:4] = 255
    assert crop_to_fundus(image).shape[0] == pytest.approx(121, abs=4)


def test_a_black_image_is_not_cropped() -> None:
    assert crop_to_fundus(np.zeros((20, 30, 3), dtype=np.uint8)).shape == (20, 30, 3)


@pytest.mark.parametrize(
    ("file_format", "mode"), [("PNG", "RGB"), ("JPEG", "RGB"), ("PNG", "L"), ("PNG", "RGBA"), ("TIFF", "RGB")]
)
def test_a_prepared_image_is_square_and_keeps_its_proportions(file_format: str, mode: str) -> None:
    image = eye(160, 400, (80, 200), 120)
    content = BytesIO()
    Image.fromarray(image).convert(mode).save(content, file_format)
    prepared = prepare_picture(content.getvalue(), 32)
    assert prepared.shape == (32, 32, 3)
    assert prepared.dtype == np.uint8
    # The eye is 160 high and 241 wide: a third of the height is black, split between top and bottom.
    assert prepared[0].max() < 20
    assert prepared[-1].max() < 20
    assert prepared[16, 16].max() > 100


def test_text_is_not_an_image() -> None:
    with pytest.raises(UnidentifiedImageError):
        prepare_picture(b"this is not an image", 32)


def test_files_are_found_with_or_without_folder_and_suffix(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/1_left.jpeg", "2.b_left.png", "._2.b_left.png", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    source = Source(tmp_path)
    assert source.files() == ["2.b_left.png", "a/1_left.jpeg"]
    names = ["1_left", "a/1_left", "1_left.jpeg", "2.b_left", "3_left", "notes"]
    assert source.find(names) == ["a/1_left.jpeg"] * 3 + ["2.b_left.png", None, None]


def test_an_ambiguous_name_is_rejected(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.png").write_bytes(b"")
    with pytest.raises(TaskError, match=r"'1' could be 'a/1\.png' or 'b/1\.png'"):
        Source(tmp_path).find(["1"])
    assert Source(tmp_path).find(["b/1.png"]) == ["b/1.png"]


def test_a_source_must_be_a_folder_or_an_archive(tmp_path: Path) -> None:
    (tmp_path / "images.zip").write_text("not an archive")
    with pytest.raises(TaskError, match="neither a folder nor a ZIP archive"):
        Source(tmp_path / "images.zip")
    with pytest.raises(TaskError, match="no such folder"):
        Source(tmp_path / "imagse")
