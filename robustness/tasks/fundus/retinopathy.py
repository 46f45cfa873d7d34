"""Real fundus photographs, from a folder created by `robustness prepare retinopathy`.

The folder holds `images.npy` (uint8 [rows, size, size, 3], memory-mapped and never read in full), `photographs.csv`
(row, name, grade, patient and split of each usable image, ordered by row; the rows of a split are contiguous) and
`prepared.json`, written last: the size, the rows of each split, the statistics of the training set, and the checksums
of the other two files and of itself. A folder of version 1 has no checksums and is read without.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from robustness.errors import TaskError, shown
from robustness.guards.limits import is_folder, open_file, read_bytes
from robustness.guards.tables import open_table
from robustness.tasks.data import Split, TaskData
from robustness.tasks.fundus.label_table import HIGHEST_GRADE, SPLITS
from robustness.validation import read_options

IMAGES, PHOTOGRAPHS, FACTS = "images.npy", "photographs.csv", "prepared.json"
VERSION = 2


class Facts(BaseModel):
    """The content of `prepared.json`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    version: int
    size: int = Field(ge=1, le=4096)
    splits: dict[str, list[int]]
    """The first row and the number of rows of each split."""
    mean: list[float] = Field(min_length=3, max_length=3)
    std: list[float] = Field(min_length=3, max_length=3)
    files: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of each other file."""
    checksum: str = ""
    """SHA-256 of this record without it, as `checksum_of` computes it."""


class Options(BaseModel):
    """Options of the task `retinopathy`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str = Field(min_length=1)
    """Folder written by `robustness prepare retinopathy --out`."""
    positive_from: int = Field(default=2, ge=1, le=4)
    """Lowest grade that counts as positive."""


def check(options: Options) -> None:
    """Raise `TaskError` unless the folder holds a finished preparation."""
    read_facts(options)


def image_size(options: Options) -> int:
    """Side of an image in pixels."""
    return read_facts(options).size


def load(options: Options) -> TaskData:
    """Load the prepared photographs, after verifying their checksums; pixels are read from the file on access."""
    facts = read_facts(options)
    folder = Path(options.folder)
    try:
        for name, checksum in facts.files.items():
            with open_file(folder / name, None, TaskError) as content:
                if hashlib.file_digest(content, "sha256").hexdigest() != checksum:
                    raise ValueError(f"{name} does not match its checksum")
        images = np.load(folder / IMAGES, mmap_mode="r", allow_pickle=False)
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != (facts.size, facts.size, 3):
            raise ValueError(f"{IMAGES} is {images.dtype} of shape {images.shape}")
        with open_table(folder / PHOTOGRAPHS, TaskError) as (_, rows):
            lines = [row.cells for row in rows]
        splits = [_split(images, lines, facts, name, options.positive_from) for name in SPLITS]
        mean, std = (np.array(values, dtype=np.float32) for values in (facts.mean, facts.std))
        if not (np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()):
            raise ValueError(f"the statistics in {FACTS} are not finite")
    except (OSError, ValueError, KeyError, EOFError, TaskError) as error:
        raise TaskError(f"task 'retinopathy': {folder} is damaged ({error}); prepare it again") from error
    return TaskData(splits[0], splits[1], splits[2], mean, std)


def read_facts(options: Options) -> Facts:
    """Return the facts of a prepared folder; raises `TaskError` if there is none, or if they are damaged."""
    path = Path(options.folder) / FACTS
    if not is_folder(path.parent):
        raise TaskError(
            f"task.folder: {options.folder!r} does not exist; create it with `robustness prepare retinopathy "
            f"--images PATH --labels FILE --out {options.folder}`"
        )
    if not path.exists():
        raise TaskError(
            f"task 'retinopathy': folder {options.folder!r} has no {FACTS}: "
            "create it with `robustness prepare retinopathy`, or rerun that if it was interrupted"
        )
    content = read_bytes(path, "study_bytes", TaskError)
    try:
        data = json.loads(content)
        version = data["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TaskError(f"task 'retinopathy': {path} cannot be read ({error})") from error
    if version not in (1, VERSION):
        raise TaskError(f"task 'retinopathy': {path} has version {shown(version)}, not {VERSION}; prepare it again")
    facts = read_options(Facts, data, f"task 'retinopathy': {path}", TaskError)
    if version == VERSION and (facts.checksum != checksum_of(data) or set(facts.files) != {IMAGES, PHOTOGRAPHS}):
        raise TaskError(f"task 'retinopathy': {path} is damaged: it does not match its checksum; prepare it again")
    return facts


def checksum_of(facts: Mapping[str, Any]) -> str:
    """Return the checksum of the content of `prepared.json`, without the one in it."""
    rest = {key: value for key, value in facts.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _split(
    images: NDArray[np.uint8], lines: Sequence[Mapping[str, str]], facts: Facts, name: str, positive_from: int
) -> Split:
    start, count = facts.splits[name]
    part = [line for line in lines if line["split"] == name]
    if len(part) != count or start < 0 or start + count > len(images):
        raise ValueError(f"{PHOTOGRAPHS} has {len(part)} images for {name}, but {FACTS} says {count}")
    grades = np.array([int(line["grade"]) for line in part], dtype=np.int64)
    if not np.isin(grades, range(HIGHEST_GRADE + 1)).all():
        raise ValueError(f"{PHOTOGRAPHS} has a grade that is not from 0 to {HIGHEST_GRADE}")
    return Split(
        images=images[start : start + count],
        labels=(grades >= positive_from).astype(np.int64),
        patients=np.array([int(line["patient_number"]) for line in part], dtype=np.int64),
        names=tuple(line["name"] for line in part),
        grades=grades,
    )
