from __future__ import annotations

from pathlib import Path

import pytest
from support.files import photographs

from robustness.cli import main
from robustness.tasks import load_task


def words(images: Path, labels: Path, out: Path, *more: str) -> list[str]:
    return ["prepare", "retinopathy", "--images", str(images), "--labels", str(labels), "--out", str(out),
            "--size", "32", "--workers", "1", *more]  # fmt: skip


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def test_photographs_are_prepared_and_can_be_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images, labels = photographs(tmp_path)
    out = tmp_path / "out"
    assert main(words(images, labels, out)) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.startswith(f"24 photographs of 12 patients in {out}: ")
    assert load_task({"name": "retinopathy", "folder": str(out)}).image_size == 32


def test_a_text_file_among_the_pictures_is_named_and_the_rest_is_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images, labels = photographs(tmp_path)
    (images / "3_left.png").write_text("a text, not a picture")
    out = tmp_path / "out"
    assert main(words(images, labels, out, "--quiet")) == 2
    line = one_line(capsys)
    assert "1 of 24 photographs cannot be used" in line
    assert "'3_left'" in line
    assert (out / "unreadable.txt").read_text(encoding="utf-8").startswith("3_left\t")
    data = load_task({"name": "retinopathy", "folder": str(out)})
    assert len(data.train) + len(data.validation) + len(data.test) == 23


def test_a_grade_of_seven_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images, labels = photographs(tmp_path)
    with labels.open("a", encoding="utf-8") as file:
        file.write("99_left,7\n")
    assert main(words(images, labels, tmp_path / "out")) == 2
    line = one_line(capsys)
    assert "labels.csv, line 26: level is '7'" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--images", "no_such_folder"], "no_such_folder: no such folder"),
        (["--labels", "no_such.csv"], "no_such.csv: no such file"),
        (["--grade-column", "levle"], "unknown column 'levle'; did you mean 'level'?"),
        (["--size", "4"], "size is 4, but must be between 16 and 2048"),
        (["--test-share", "0.9"], "--test-share 0.9"),
        (["--workers", "0"], "--workers is 0"),
        (["--seed", "-1"], "--seed is -1"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], message: str
) -> None:
    images, labels = photographs(tmp_path, patients=4)
    assert main([*words(images, labels, tmp_path / "out"), *change]) == 2
    assert message in one_line(capsys)
    assert not (tmp_path / "out").exists()


def test_a_table_without_the_columns_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images, labels = photographs(tmp_path, patients=4)
    labels.write_text("picture,stage\n1_left,2\n", encoding="utf-8")
    assert main(words(images, labels, tmp_path / "out")) == 2
    assert "no column for the image" in one_line(capsys)


def test_a_task_that_needs_no_preparing_gets_the_nearest_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = words(tmp_path, tmp_path / "labels.csv", tmp_path / "out")
    arguments[1] = "retinopaty"
    assert main(arguments) == 2
    assert "did you mean 'retinopathy'?" in one_line(capsys)
