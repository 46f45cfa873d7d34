"""Fundus photographs as downloaded: found in a folder or ZIP archive, decoded and cropped."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robustness.errors import TaskError
from robustness.tasks.fundus.label_table import IMAGE_SUFFIXES

FORMATS = ("JPEG", "PNG", "TIFF", "BMP", "WEBP", "PPM")
"""Accepted formats; a fixed list excludes formats for which Pillow runs external programs."""

WHITE, DIMMEST = 230, 12
"""Brightness above which corners are a white background, and up to which a pixel is always background."""


class Source:
    """The image files in a folder (searched recursively) or in a ZIP archive, which is read without unpacking."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive: zipfile.ZipFile | None = None
        if path.is_dir():
            return
        if not path.exists():
            raise TaskError(f"{path}: no such folder or ZIP archive of images")
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise TaskError(f"{path}: is neither a folder nor a ZIP archive ({error})") from error

    def close(self) -> None:
        if self._archive is not None:
            self._archive.close()

    def files(self) -> list[str]:
        """Sorted paths of all image files."""
        if self._archive is not None:
            names = [entry.filename for entry in self._archive.infolist() if not entry.is_dir()]
        else:
            names = [file.relative_to(self.path).as_posix() for file in self.path.rglob("*") if file.is_file()]
        # Names with a leading dot are metadata of file managers, such as `._10_left.jpeg` next to each image.
        images = (name for name in names if PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES)
        return sorted(name for name in images if not PurePosixPath(name).name.startswith("."))

    def read(self, file: str) -> bytes:
        """Contents of a file."""
        return (self.path / file).read_bytes() if self._archive is None else self._archive.read(file)

    def find(self, names: list[str]) -> list[str | None]:
        """File of each name, which may omit the folder and the suffix; None if there is none."""
        by_key: dict[str, list[str]] = {}
        for file in self.files():
            path = PurePosixPath(file)
            for key in {file, str(path.with_suffix("")), path.name, path.stem}:
                by_key.setdefault(key, []).append(file)
        matches: list[str | None] = []
        for name in names:
            files = by_key.get(name, [])
            if len(files) > 1 and name not in files:
                raise TaskError(f"{self.path}: {name!r} could be {files[0]!r} or {files[1]!r}; remove one of them")
            matches.append(name if name in files else files[0] if files else None)
        return matches


def prepare_picture(content: bytes, size: int) -> NDArray[np.uint8]:
    """Decode an image, crop it to the fundus, pad it with black to a square and resize it: [size, size, 3].

    Raises whatever Pillow raises if the content is not an image or is damaged.
    """
    with Image.open(BytesIO(content), formats=FORMATS) as image:
        # A JPEG can be decoded at 1/2, 1/4 or 1/8 of its size, which is several times faster.
        image.draft("RGB", (2 * size, 2 * size))
        pixels: NDArray[np.uint8] = np.array(image.convert("RGB"))
    fundus = crop_to_fundus(pixels)
    height, width = fundus.shape[:2]
    side = max(height, width)
    square: NDArray[np.uint8] = np.zeros((side, side, 3), dtype=np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = fundus
    resized = Image.fromarray(square).resize((size, size), Image.Resampling.LANCZOS)
    return np.asarray(resized)


def crop_to_fundus(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Crop an image [height, width, 3] to the eye; returns the whole image if nothing is brighter than the background.

    A row or column belongs to the eye if the brightest channel of more than 2 % of its pixels exceeds a tenth of the
    99th percentile of the image. A white background is made black first.
    """
    image = _without_white(image)
    brightest = image.max(axis=2)
    bright = brightest > max(DIMMEST, 0.1 * float(np.percentile(brightest[::4, ::4], 99)))
    rows = np.flatnonzero(bright.mean(axis=1) > 0.02)
    columns = np.flatnonzero(bright.mean(axis=0) > 0.02)
    if len(rows) == 0 or len(columns) == 0:
        return image
    return image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _without_white(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    edge = max(1, min(image.shape[:2]) // 32)
    corners: list[NDArray[Any]] = [image[rows, columns] for rows in _ends(edge) for columns in _ends(edge)]
    if min(float(corner.mean(axis=(0, 1)).min()) for corner in corners) <= WHITE:
        return image
    white = image.min(axis=2, keepdims=True) > WHITE
    return np.where(white, np.uint8(0), image)


def _ends(edge: int) -> tuple[slice, slice]:
    return slice(None, edge), slice(-edge, None)
