"""FashionMNIST's original idx files, from a folder or from the Debian package, verified by checksum."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robustness.errors import TaskError
from robustness.guards.limits import check, is_file, limit, open_file

DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
"""Where the Debian package `dataset-fashion-mnist` installs the files."""

CHECKSUMS = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
"""SHA-256 of each file's uncompressed content, because Debian's gzip headers differ from the published ones."""

HOW_TO_GET_IT = (
    "install the Debian package (apt-get install dataset-fashion-mnist), or set task.folder to "
    "a folder with the idx files of github.com/zalandoresearch/fashion-mnist"
)
UNSIGNED_BYTES = 0x08


@dataclass(frozen=True)
class Pictures:
    """The images and labels of one pair of idx files."""

    images: NDArray[np.uint8]
    """[n, rows, columns]."""
    labels: NDArray[np.uint8]
    """[n]."""


def find_files(folder: str | None) -> dict[str, Path]:
    """Return the four files by name, compressed or not; raises a `TaskError` that says how to get missing ones."""
    place = DEBIAN_FOLDER if folder is None else Path(folder)
    files = {}
    for name in CHECKSUMS:
        file = next((path for path in (place / f"{name}.gz", place / name) if is_file(path)), None)
        if file is None:
            raise TaskError(f"task.folder: FashionMNIST's {name}.gz is not in {place}: {HOW_TO_GET_IT}")
        files[name] = file
    return files


@lru_cache(maxsize=1)
def load(folder: str | None, checksums: bool = True) -> tuple[Pictures, Pictures]:
    """Return the training and test images; read once per process."""
    arrays = {name: _read(path, name, checksums) for name, path in find_files(folder).items()}
    sets = []
    for part in ("train", "t10k"):
        images, labels = arrays[f"{part}-images-idx3-ubyte"], arrays[f"{part}-labels-idx1-ubyte"]
        if images.ndim != 3 or labels.shape != images.shape[:1]:
            raise TaskError(
                f"task.folder: {part}: images and labels must have shapes [n, rows, columns] and [n], "
                f"found {images.shape} and {labels.shape}"
            )
        sets.append(Pictures(images, labels))
    return sets[0], sets[1]


def _read(path: Path, name: str, checksums: bool) -> NDArray[np.uint8]:
    most = limit("array_bytes")
    try:
        with open_file(path, "array_bytes", TaskError) as file:
            content = (gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file).read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise TaskError(f"task.folder: {path} cannot be read ({error}): {HOW_TO_GET_IT}") from None
    check("array_bytes", len(content), path, TaskError)
    if checksums and hashlib.sha256(content).hexdigest() != CHECKSUMS[name]:
        raise TaskError(f"task.folder: {path} is not FashionMNIST's {name}, its checksum differs: {HOW_TO_GET_IT}")
    try:
        return read_idx(content)
    except ValueError as error:
        raise TaskError(f"task.folder: {path}: {error}") from None


def read_idx(content: bytes) -> NDArray[np.uint8]:
    """Return the array in an idx file of bytes: 0, 0, 8, the number of dimensions, 32-bit sizes, the values."""
    if len(content) < 4 or content[:3] != bytes((0, 0, UNSIGNED_BYTES)):
        raise ValueError("not an idx file of unsigned bytes")
    dimensions = content[3]
    start = 4 + 4 * dimensions
    if len(content) < start:
        raise ValueError("its header is truncated")
    sizes = tuple(int(size) for size in np.frombuffer(content[4:start], dtype=">u4"))
    if len(content) - start != prod(sizes):
        raise ValueError(f"{len(content)} bytes do not match the sizes {sizes} in its header")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(sizes)
