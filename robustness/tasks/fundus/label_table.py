"""Table of grades: a CSV file with one line per photograph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from robustness.errors import TaskError, shown, shown_key, unknown_name
from robustness.guards.tables import open_table, plain

SPLITS = ("train", "validation", "test")
HIGHEST_GRADE = 4

USUAL_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "image": ("image", "image_id", "id_code", "image_name", "filename", "file", "name"),
    "grade": ("level", "grade", "diagnosis", "retinopathy_grade", "dr_grade", "dr_level"),
    "patient": ("patient", "patient_id"),
    "split": ("split", "set", "partition"),
}
"""Default column names, in order of preference; matched ignoring case, with spaces as underscores."""

_SPLIT_NAMES = {"training": "train", "val": "validation", "valid": "validation", "testing": "test"}
_EYE = re.compile(r"(.+)[_-](left|right|[lr]\d*|od|os)", re.IGNORECASE)


@dataclass(frozen=True)
class Photograph:
    """One line of the table."""

    name: str
    grade: int
    patient: str
    split: str


def read_labels(path: Path, columns: Mapping[str, str], shares: tuple[float, float], seed: int) -> list[Photograph]:
    """Read the photographs in the order of the file, each with its patient and split.

    `columns` maps "image", "grade", "patient" and "split" to column names; missing ones are looked up by their default
    names. Without a patient column, `10_left` and `10_right` belong to patient 10, and any other name is a separate
    patient. Without a split column, patients are assigned at random so that validation and test get these shares.
    """
    with open_table(path, TaskError) as (header, rows):
        names = {kind: _column(path, kind, header, columns.get(kind)) for kind in USUAL_COLUMNS}
        image, grade, patient, split = (names[kind] for kind in ("image", "grade", "patient", "split"))
        for kind in ("image", "grade"):
            if names[kind] is None:
                raise TaskError(
                    f"{path}: no column for the {kind} (looked for {', '.join(USUAL_COLUMNS[kind])}; "
                    f"it has {', '.join(map(shown_key, header))}); name it with --{kind}-column"
                )
        photographs: dict[str, Photograph] = {}
        for row in rows:
            number, line = row.line, row.cells
            name = plain(line[image or ""]).strip()
            if not name:
                raise TaskError(f"{path}, line {number}: {image} is empty")
            if not name.isprintable():
                raise TaskError(f"{path}, line {number}: {image} {shown(name)} has characters that cannot be printed")
            if name in photographs:
                raise TaskError(f"{path}, line {number}: {image} {shown(name)} appears twice")
            photographs[name] = Photograph(
                name=name,
                grade=_grade(path, number, grade or "", line[grade or ""]),
                patient=plain(line[patient]).strip() if patient else patient_of(name),
                split=_split(path, number, split, line[split]) if split else "",
            )
    if not photographs:
        raise TaskError(f"{path}: has no lines below its header")
    table = list(photographs.values())
    if split is None:
        table = split_by_patient(table, shares, seed)
    _check_patients(path, table)
    return table


def patient_of(name: str) -> str:
    """Patient in the name of an image: 10 for `10_left` or `10_r2.jpg`; the name itself if it has no eye suffix."""
    path = PurePosixPath(name)
    stem = path.stem if path.suffix.lower() in IMAGE_SUFFIXES else path.name
    match = _EYE.fullmatch(stem)
    return match.group(1) if match else stem


IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp", ".ppm")
"""Suffixes of image files."""


def split_by_patient(table: Sequence[Photograph], shares: tuple[float, float], seed: int) -> list[Photograph]:
    """Assign whole patients to splits at random; `shares` are the fractions of validation and test images."""
    sizes: dict[str, int] = {}
    for photograph in table:
        sizes[photograph.patient] = sizes.get(photograph.patient, 0) + 1
    patients = sorted(sizes)
    order = np.random.default_rng(seed).permutation(len(patients))
    targets = {"validation": shares[0] * len(table), "test": shares[1] * len(table)}
    assigned = dict.fromkeys(targets, 0)
    split_of = {}
    for number in order:
        patient = patients[number]
        # A split takes a patient as long as that brings it closer to its share.
        split = next((name for name in targets if assigned[name] + sizes[patient] / 2 <= targets[name]), "train")
        split_of[patient] = split
        if split != "train":
            assigned[split] += sizes[patient]
    return [Photograph(entry.name, entry.grade, entry.patient, split_of[entry.patient]) for entry in table]


def _column(path: Path, kind: str, header: Sequence[str], named: str | None) -> str | None:
    """Name of the column of this kind as in the header; None if it was not specified and has no default name."""
    if named is not None:
        if named not in header:
            raise TaskError(f"{path}: --{kind}-column: {unknown_name('column', named, header)}")
        return named
    normalised = {name.strip().lower().replace(" ", "_"): name for name in header}
    return next((normalised[usual] for usual in USUAL_COLUMNS[kind] if usual in normalised), None)


def _grade(path: Path, number: int, column: str, text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value not in range(HIGHEST_GRADE + 1):
        raise TaskError(f"{path}, line {number}: {column} is {shown(text)}, but a grade is an integer from 0 to 4")
    return int(value)


def _split(path: Path, number: int, column: str, text: str) -> str:
    name = text.strip().lower()
    name = _SPLIT_NAMES.get(name, name)
    if name not in SPLITS:
        raise TaskError(f"{path}, line {number}: {column}: {unknown_name('split', text, SPLITS)}")
    return name


def _check_patients(path: Path, table: Sequence[Photograph]) -> None:
    seen: dict[str, str] = {}
    for photograph in table:
        first = seen.setdefault(photograph.patient, photograph.split)
        if first != photograph.split:
            raise TaskError(
                f"{path}: patient {shown(photograph.patient)} is in two splits, {first} and {photograph.split} "
                f"({photograph.name!r}); all images of a patient must be in the same split"
            )
