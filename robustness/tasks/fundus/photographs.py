"""Photographs of the eye's background as they are downloaded: found in a folder or a ZIP archive, decoded, cropped."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robustness.errors import TaskError
from robustness.tasks.fundus.label_table import PICTURES

FORMATS = ("JPEG", "PNG", "TIFF", "BMP", "WEBP", "PPM")
"""What a file may contain; a closed list keeps out formats whose reading starts other programs."""

WHITE, DIMMEST = 230, 12
"""Corners this bright are a white background; whatever is no brighter than the other is background for sure."""


class Source:
    """The picture files of a folder (with all folders in it) or of a ZIP archive, which is read without unpacking."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive: zipfile.ZipFile | None = None
        if path.is_dir():
            return
        if not path.exists():
            raise TaskError(f"{path}: there is no such folder or ZIP archive of pictures")
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise TaskError(f"{path}: is neither a folder nor a ZIP archive ({error})") from error

    def close(self) -> None:
        if self._archive is not None:
            self._archive.close()

    def files(self) -> list[str]:
        """The paths of all picture files inside, in order."""
        if self._archive is not None:
            names = [entry.filename for entry in self._archive.infolist() if not entry.is_dir()]
        else:
            names = [file.relative_to(self.path).as_posix() for file in self.path.rglob("*") if file.is_file()]
        # Names with a leading dot are what file managers leave behind, such as `._10_left.jpeg` beside each picture.
        pictures = (name for name in names if PurePosixPath(name).suffix.lower() in PICTURES)
        return sorted(name for name in pictures if not PurePosixPath(name).name.startswith("."))

    def read(self, file: str) -> bytes:
        """The content of the file."""
        return (self.path / file).read_bytes() if self._archive is None else self._archive.read(file)

    def find(self, names: list[str]) -> list[str | None]:
        """The file of each name, given with or without folders and ending; None where there is none."""
        by_key: dict[str, list[str]] = {}
        for file in self.files():
            path = PurePosixPath(file)
            for key in {file, str(path.with_suffix("")), path.name, path.stem}:
                by_key.setdefault(key, []).append(file)
        found: list[str | None] = []
        for name in names:
            files = by_key.get(name, [])
            if len(files) > 1 and name not in files:
                raise TaskError(f"{self.path}: {name!r} could be {files[0]!r} or {files[1]!r}; keep one of them apart")
            found.append(name if name in files else files[0] if files else None)
        return found


def prepare_picture(content: bytes, size: int) -> NDArray[np.uint8]:
    """The picture in a file's content, cropped to the fundus, squared with black and resized: [size, size, 3].

    Raises whatever Pillow raises when the content is no picture or a damaged one.
    """
    with Image.open(BytesIO(content), formats=FORMATS) as image:
        # A JPEG can be decoded at 1/2, 1/4 or 1/8 of its size, which is several times faster.
        image.draft("RGB", (2 * size, 2 * size))
        picture: NDArray[np.uint8] = np.array(image.convert("RGB"))
    fundus = crop_to_fundus(picture)
    height, width = fundus.shape[:2]
    side = max(height, width)
    square: NDArray[np.uint8] = np.zeros((side, side, 3), dtype=np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = fundus
    resized = Image.fromarray(square).resize((size, size), Image.Resampling.LANCZOS)
    return np.asarray(resized)


def crop_to_fundus(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The part of the picture [height, width, 3] that shows the eye; the whole if nothing stands out from the dark.

    A row or column belongs to the eye if more than 2 % of its pixels are brighter, in their brightest channel, than a
    tenth of the picture's brightest parts. A white background is made black first.
    """
    picture = _without_white(picture)
    brightest = picture.max(axis=2)
    bright = brightest > max(DIMMEST, 0.1 * float(np.percentile(brightest[::4, ::4], 99)))
    rows = np.flatnonzero(bright.mean(axis=1) > 0.02)
    columns = np.flatnonzero(bright.mean(axis=0) > 0.02)
    if len(rows) == 0 or len(columns) == 0:
        return picture
    return picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _without_white(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    edge = max(1, min(picture.shape[:2]) // 32)
    corners: list[NDArray[Any]] = [picture[rows, columns] for rows in _ends(edge) for columns in _ends(edge)]
    if min(float(corner.mean(axis=(0, 1)).min()) for corner in corners) <= WHITE:
        return picture
    white = picture.min(axis=2, keepdims=True) > WHITE
    return np.where(white, np.uint8(0), picture)


def _ends(edge: int) -> tuple[slice, slice]:
    return slice(None, edge), slice(-edge, None)
