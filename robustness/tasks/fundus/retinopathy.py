"""Real fundus photographs, from a folder created by `robustness prepare retinopathy`.

The folder holds `images.npy` (uint8 [rows, size, size, 3], memory-mapped and never read in full), `photographs.csv`
(row, name, grade, patient and split of each usable image, ordered by row; the rows of a split are contiguous) and
`prepared.json`, written last: the size, the rows of each split and the statistics of the training set.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from robustness.errors import TaskError
from robustness.tasks.data import Split, TaskData
from robustness.tasks.fundus.label_table import SPLITS

IMAGES, PHOTOGRAPHS, FACTS = "images.npy", "photographs.csv", "prepared.json"
VERSION = 1


class Options(BaseModel):
    """Options of the task `retinopathy`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: str = Field(min_length=1)
    """Folder written by `robustness prepare retinopathy --out`."""
    positive_from: int = Field(2, ge=1, le=4)
    """Lowest grade that counts as positive."""


def check(options: Options) -> None:
    """Raise `TaskError` unless the folder holds a finished preparation."""
    _facts(options)


def image_size(options: Options) -> int:
    """Side of an image in pixels."""
    return int(_facts(options)["size"])


def load(options: Options) -> TaskData:
    """Load the prepared photographs; pixels are read from the file on access."""
    facts = _facts(options)
    folder = Path(options.folder)
    try:
        images = np.load(folder / IMAGES, mmap_mode="r", allow_pickle=False)
        with (folder / PHOTOGRAPHS).open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        splits = [_split(images, lines, facts, name, options.positive_from) for name in SPLITS]
        mean, std = (np.array(facts[name], dtype=np.float32) for name in ("mean", "std"))
    except (OSError, ValueError, KeyError) as error:
        raise TaskError(f"task 'retinopathy': {folder} is damaged ({error}); prepare it again") from error
    return TaskData(splits[0], splits[1], splits[2], mean, std)


def _facts(options: Options) -> dict[str, Any]:
    folder = Path(options.folder)
    if not folder.is_dir():
        raise TaskError(
            f"task.folder: {options.folder!r} does not exist; create it with `robustness prepare retinopathy`"
        )
    try:
        facts: dict[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        version = facts["version"]
    except FileNotFoundError:
        raise TaskError(
            f"task 'retinopathy': folder {options.folder!r} has no {FACTS}: "
            "create it with `robustness prepare retinopathy`, or rerun that if it was interrupted"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TaskError(f"task 'retinopathy': {folder / FACTS} cannot be read ({error})") from error
    if version != VERSION:
        raise TaskError(f"task 'retinopathy': {folder / FACTS} has version {version}, not {VERSION}; prepare it again")
    return facts


def _split(
    images: NDArray[np.uint8], lines: list[dict[str, str]], facts: dict[str, Any], name: str, positive_from: int
) -> Split:
    start, count = facts["splits"][name]
    part = [line for line in lines if line["split"] == name]
    if len(part) != count or start + count > len(images):
        raise ValueError(f"{PHOTOGRAPHS} has {len(part)} images for {name}, but {FACTS} says {count}")
    grades = np.array([int(line["grade"]) for line in part], dtype=np.int64)
    return Split(
        images=images[start : start + count],
        labels=(grades >= positive_from).astype(np.int64),
        patients=np.array([int(line["patient_number"]) for line in part], dtype=np.int64),
        names=tuple(line["name"] for line in part),
        grades=grades,
    )
