from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustness.errors import TaskError
from robustness.tasks.fundus.label_table import Photograph, patient_of, read_labels, split_by_patient

SHARES = (0.2, 0.2)


def table(folder: Path, text: str) -> Path:
    path = folder / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_kaggle_format_needs_no_column_names(tmp_path: Path) -> None:
    path = table(tmp_path, "image,level\n10_left,0\n10_right,3\n13_left,4.0\n")
    entries = read_labels(path, {}, SHARES, seed=0)
    assert [(entry.name, entry.grade, entry.patient) for entry in entries] == [
        ("10_left", 0, "10"),
        ("10_right", 3, "10"),
        ("13_left", 4, "13"),
    ]


def test_named_columns_and_default_columns_can_be_combined(tmp_path: Path) -> None:
    path = table(tmp_path, "Photo,Retinopathy Grade,who,Split\na.png,1,x,Training\nb.png,2,y,val\nc.png,0,z,TEST\n")
    entries = read_labels(path, {"image": "Photo", "patient": "who"}, SHARES, seed=0)
    assert entries == [
        Photograph("a.png", 1, "x", "train"),
        Photograph("b.png", 2, "y", "validation"),
        Photograph("c.png", 0, "z", "test"),
    ]


@pytest.mark.parametrize(
    ("name", "patient"),
    [
        ("10_left", "10"),
        ("10_right.jpeg", "10"),
        ("folder/7_r2.jpg", "7"),
        ("a.b_OD", "a.b"),
        ("000c1434d8d7", "000c1434d8d7"),
    ],
)
def test_the_patient_precedes_the_eye_in_the_name(name: str, patient: str) -> None:
    assert patient_of(name) == patient


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,level\n10_left,7\n", "line 2: level is '7', but a grade is an integer from 0 to 4"),
        ("image,level\n10_left,\n", "line 2: level is ''"),
        ("image,level\n10_left,nan\n", "line 2: level is 'nan'"),
        ("image,stage\n10_left,1\n", "no column for the grade"),
        ("level\n1\n", "no column for the image"),
        ("image,level\na,1\na,1\n", "line 3: image 'a' appears twice"),
        ("image,level\n", "has no lines below its header"),
        ("", "is empty"),
        ("image,level,split\na,1,trian\n", "unknown split 'trian'; did you mean 'train'?"),
        ("image,level,split\n1_left,1,train\n1_right,1,test\n", "patient '1' is in two splits, train and test"),
    ],
)
def test_an_invalid_table_is_a_one_line_error_that_names_the_file_and_the_problem(
    tmp_path: Path, text: str, message: str
) -> None:
    path = table(tmp_path, text)
    with pytest.raises(TaskError) as caught:
        read_labels(path, {}, SHARES, seed=0)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_unknown_column_is_answered_with_the_closest_match(tmp_path: Path) -> None:
    path = table(tmp_path, "image,level\na,1\n")
    with pytest.raises(TaskError, match=r"--grade-column: unknown column 'levle'; did you mean 'level'\?"):
        read_labels(path, {"grade": "levle"}, SHARES, seed=0)


def test_a_binary_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(TaskError, match="cannot be read as CSV"):
        read_labels(path, {}, SHARES, seed=0)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.integers(0, 30), min_size=40, max_size=120), st.integers(0, 5))
def test_a_split_keeps_patients_together_and_is_close_to_its_share(patients: list[int], seed: int) -> None:
    entries = [Photograph(str(number), 0, str(patient), "") for number, patient in enumerate(patients)]
    assigned = split_by_patient(entries, SHARES, seed)
    assert assigned == split_by_patient(entries, SHARES, seed)
    assert len({(entry.patient, entry.split) for entry in assigned}) == len(set(patients))
    largest = max(patients.count(patient) for patient in patients)
    for split in ("validation", "test"):
        count = sum(entry.split == split for entry in assigned)
        assert abs(count - 0.2 * len(patients)) <= largest
