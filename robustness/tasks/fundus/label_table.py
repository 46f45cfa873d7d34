"""The table that says which photograph has which grade: a CSV file with one line a picture."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from robustness.errors import TaskError, unknown_name

SPLITS = ("train", "validation", "test")
HIGHEST_GRADE = 4

USUAL_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "image": ("image", "image_id", "id_code", "image_name", "filename", "file", "name"),
    "grade": ("level", "grade", "diagnosis", "retinopathy_grade", "dr_grade", "dr_level"),
    "patient": ("patient", "patient_id"),
    "split": ("split", "set", "partition"),
}
"""Under which names a column is looked for that was not named, the first found; in any case, spaces as underscores."""

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
    """The photographs in the order of the file, each with its patient and its split.

    `columns` names columns for "image", "grade", "patient", "split"; those left out are looked for. Without a column of
    patients, `10_left` and `10_right` belong to patient 10, and any other name is a patient of its own. Without one of
    splits, patients are dealt out at random, so that validation and test have these shares of the pictures.
    """
    header, lines = _read(path)
    found = {kind: _column(path, kind, header, columns.get(kind)) for kind in USUAL_COLUMNS}
    image, grade, patient, split = (found[kind] for kind in ("image", "grade", "patient", "split"))
    for kind in ("image", "grade"):
        if found[kind] is None:
            raise TaskError(
                f"{path}: no column for the {kind} (looked for {', '.join(USUAL_COLUMNS[kind])}; "
                f"there are {', '.join(header)}); name it with --{kind}-column"
            )
    photographs: dict[str, Photograph] = {}
    for number, line in lines:
        name = line[image or ""].strip()
        if not name:
            raise TaskError(f"{path}, line {number}: {image} is empty")
        if name in photographs:
            raise TaskError(f"{path}, line {number}: {image} {name!r} is there twice")
        photographs[name] = Photograph(
            name=name,
            grade=_grade(path, number, grade or "", line[grade or ""]),
            patient=line[patient].strip() if patient else patient_of(name),
            split=_split(path, number, split, line[split]) if split else "",
        )
    if not photographs:
        raise TaskError(f"{path}: has no line below its header")
    table = list(photographs.values())
    if split is None:
        table = split_by_patient(table, shares, seed)
    _no_patient_twice(path, table)
    return table


def patient_of(name: str) -> str:
    """The patient in a picture's name: 10 for `10_left` or `10_r2.jpg`; the name itself if it tells no eye."""
    stem = PurePosixPath(name).stem if PurePosixPath(name).suffix.lower() in PICTURES else PurePosixPath(name).name
    match = _EYE.fullmatch(stem)
    return match.group(1) if match else stem


PICTURES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".webp", ".ppm")
"""How the names of picture files end."""


def split_by_patient(table: Sequence[Photograph], shares: tuple[float, float], seed: int) -> list[Photograph]:
    """The same photographs with whole patients dealt out to the splits; `shares` are those of validation and test."""
    sizes: dict[str, int] = {}
    for photograph in table:
        sizes[photograph.patient] = sizes.get(photograph.patient, 0) + 1
    patients = sorted(sizes)
    order = np.random.default_rng(seed).permutation(len(patients))
    wanted = {"validation": shares[0] * len(table), "test": shares[1] * len(table)}
    dealt = dict.fromkeys(wanted, 0)
    split_of = {}
    for number in order:
        patient = patients[number]
        # A split takes patients until the next one would take it further from its share than leaving it out.
        split = next((name for name in wanted if dealt[name] + sizes[patient] / 2 <= wanted[name]), "train")
        split_of[patient] = split
        if split != "train":
            dealt[split] += sizes[patient]
    return [Photograph(entry.name, entry.grade, entry.patient, split_of[entry.patient]) for entry in table]


def _read(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The header and the numbered lines of a CSV file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restkey="", restval="")
            header = [name for name in reader.fieldnames or [] if name]
            lines = [(reader.line_num, line) for line in reader]
    except FileNotFoundError:
        raise TaskError(f"{path}: there is no such file of labels") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TaskError(f"{path}: cannot be read as a CSV file of labels ({error})") from error
    if not header:
        raise TaskError(f"{path}: is empty; a CSV file of labels begins with a line of column names")
    return header, lines


def _column(path: Path, kind: str, header: Sequence[str], named: str | None) -> str | None:
    """The name, as in the header, of the column of this kind; None if it was not named and is not found."""
    if named is not None:
        if named not in header:
            raise TaskError(f"{path}: --{kind}-column: {unknown_name('column', named, header)}")
        return named
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    return next((plain[usual] for usual in USUAL_COLUMNS[kind] if usual in plain), None)


def _grade(path: Path, number: int, column: str, text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value not in range(HIGHEST_GRADE + 1):
        raise TaskError(f"{path}, line {number}: {column} is {text!r}, but a grade is a whole number from 0 to 4")
    return int(value)


def _split(path: Path, number: int, column: str, text: str) -> str:
    name = text.strip().lower()
    name = _SPLIT_NAMES.get(name, name)
    if name not in SPLITS:
        raise TaskError(f"{path}, line {number}: {column}: {unknown_name('split', text, SPLITS)}")
    return name


def _no_patient_twice(path: Path, table: Sequence[Photograph]) -> None:
    seen: dict[str, str] = {}
    for photograph in table:
        first = seen.setdefault(photograph.patient, photograph.split)
        if first != photograph.split:
            raise TaskError(
                f"{path}: patient {photograph.patient!r} is in two splits, {first} and {photograph.split} "
                f"({photograph.name!r}); all pictures of a patient belong in one"
            )
