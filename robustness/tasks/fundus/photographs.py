"""Fundus photographs as downloaded: found in a folder or ZIP archive, decoded and cropped.

The size of a photograph is known before it is decoded, and that of a file in an archive before it is unpacked.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from robustness.errors import TaskError
from robustness.guards.archives import open_archive, read_member
from robustness.guards.limits import check, is_file, is_folder, limit, read_bytes
from robustness.tasks.fundus.label_table import IMAGE_SUFFIXES

FORMATS = ("JPEG", "PNG", "TIFF", "BMP", "WEBP", "PPM")
"""Accepted formats; a fixed list excludes formats for which Pillow runs external programs."""

ORIENTATION = 0x0112
"""The EXIF tag of a camera's orientation."""
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""How an image of each orientation is turned upright."""

WHITE, DIMMEST = 230, 12
"""Brightness above which corners are a white background, and up to which a pixel is always background."""


class Source:
    """The image files in a folder (searched recursively) or in a ZIP archive, which is read without unpacking."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive: zipfile.ZipFile | None = None
        if is_folder(path):
            return
        if not is_file(path):
            raise TaskError(f"{path}: no such folder or ZIP archive of images")
        if not zipfile.is_zipfile(path):
            raise TaskError(f"{path}: is neither a folder nor a ZIP archive")
        self._archive = open_archive(path, None, TaskError)

    def close(self) -> None:
        if self._archive is not None:
            self._archive.close()

    def files(self) -> list[str]:
        """Sorted paths of all image files."""
        if self._archive is not None:
            names = [entry.filename for entry in self._archive.infolist() if not entry.is_dir()]
        else:
            names = [file.relative_to(self.path).as_posix() for file in self._walk() if file.is_file()]
        # Names with a leading dot are metadata of file managers, such as `._10_left.jpeg` next to each image.
        images = (name for name in names if PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES)
        return sorted(name for name in images if not PurePosixPath(name).name.startswith("."))

    def _walk(self) -> Iterator[Path]:
        """Everything in the folder and the folders below it; links to folders are not followed."""
        try:
            for count, file in enumerate(self.path.rglob("*"), start=1):
                check("archive_members", count, self.path, TaskError)
                yield file
        except OSError as error:
            raise TaskError(f"{self.path}: cannot be read ({error.strerror})") from None

    def read(self, file: str) -> bytes:
        """Contents of a file; raises `TaskError` if it is too large, or what `zipfile` raises if it is damaged."""
        if self._archive is None:
            return read_bytes(self.path / file, "picture_bytes", TaskError)
        return read_member(self._archive, file, "picture_bytes", TaskError)

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

    Raises `TaskError` for an image that is too large or of unknown scale, and whatever Pillow raises if the content is
    not an image or is damaged.
    """
    fundus = crop_to_fundus(decode(content, size))
    height, width = fundus.shape[:2]
    side = max(height, width)
    square: NDArray[np.uint8] = np.zeros((side, side, 3), dtype=np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = fundus
    resized = Image.fromarray(square).resize((size, size), Image.Resampling.LANCZOS)
    return np.asarray(resized)


def decode(content: bytes, size: int) -> NDArray[np.uint8]:
    """Decode an image to 8 bits per channel, [height, width, 3], upright, on black where it is transparent.

    A JPEG is decoded at a fraction of its resolution if that leaves at least twice `size`.
    """
    with warnings.catch_warnings():
        # Pillow warns of large images and odd metadata; here sizes have a limit, and pixels alone count.
        warnings.simplefilter("ignore")
        try:
            image = Image.open(BytesIO(content), formats=FORMATS)
        except Image.DecompressionBombError:
            raise TaskError(_too_large(2 * (Image.MAX_IMAGE_PIXELS or 0))) from None
        with image:
            # A JPEG can be decoded at 1/2, 1/4 or 1/8 of its size, which is several times faster.
            image.draft("RGB", (2 * size, 2 * size))
            # It is padded to a square: an image of 60,000 x 1 pixels would take 3.6 billion.
            if max(image.size) ** 2 > limit("picture_pixels"):
                raise TaskError(_too_large(max(image.size) ** 2))
            return _as_rgb(_upright(image))


def _too_large(pixels: int) -> str:
    return (
        f"{pixels:,} pixels as a square exceed the limit of {limit('picture_pixels'):,}; "
        f"if you trust it, raise the limit with ROBUSTNESS_LIMIT_PICTURE_PIXELS={pixels}"
    )


def _upright(image: Image.Image) -> Image.Image:
    """The image as its camera was held, according to its EXIF orientation."""
    # Loading a TIFF turns it upright and removes its orientation.
    image.load()
    try:
        orientation = image.getexif().get(ORIENTATION, 1)
    except Exception:  # Damaged metadata leave the pixels readable.
        return image
    turn = TURNS.get(orientation) if isinstance(orientation, int) else None
    return image if turn is None else image.transpose(turn)


def _as_rgb(image: Image.Image) -> NDArray[np.uint8]:
    """The pixels as RGB: 16-bit grey scaled to 8 bits, transparent pixels on black."""
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        deep = np.asarray(image).astype(np.uint32).clip(0, 65535)
        grey: NDArray[np.uint8] = ((deep + 128) // 257).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if image.mode in ("I", "F"):
        raise TaskError("its pixels have 32 bits, and their scale is unknown; convert it to 8 or 16 bits")
    if image.has_transparency_data:
        return _on_black(np.asarray(image if image.mode == "RGBA" else image.convert("RGBA")))
    pixels: NDArray[np.uint8] = np.array(image if image.mode == "RGB" else image.convert("RGB"))
    return pixels


def _on_black(pixels: NDArray[np.uint8], block: int = 64) -> NDArray[np.uint8]:
    """RGB of pixels [height, width, 4] in front of black; in blocks of rows, since products need twice the memory."""
    result: NDArray[np.uint8] = np.empty((*pixels.shape[:2], 3), dtype=np.uint8)
    for start in range(0, len(pixels), block):
        part = pixels[start : start + block].astype(np.uint16)
        result[start : start + block] = (part[..., :3] * part[..., 3:] + 127) // 255
    return result


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
