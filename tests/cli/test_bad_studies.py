"""What a study names and does not exist: one line on stderr that names it, exit 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.studies import small, write

from robustness.cli import main
from robustness.errors import RobustnessError
from robustness.study.loading import load_study


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arms": ["mfvi", "radail"]}, ["arms", "'radail'", "did you mean 'radial'"]),
        ({"model__name": "vgg_smal"}, ["model", "'vgg_smal'", "did you mean 'vgg_small'"]),
        ({"task__name": "synthetic_fundis"}, ["task", "'synthetic_fundis'", "did you mean 'synthetic_fundus'"]),
        ({"task__image_size": 4}, ["task", "image_size", "4", "16"]),
        ({"model__base_channels": 0}, ["model", "base_channels", "0"]),
    ],
)
def test_an_unknown_name_or_size_is_one_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], words: list[str]
) -> None:
    path = write(tmp_path, small(**changes))
    assert main(["plan", path]) == 2
    check(capsys.readouterr().err.rstrip("\n"), words, tmp_path)


def test_data_that_is_missing_is_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, small(task={"name": "retinopathy", "folder": "no/such/folder"}))
    with pytest.raises(RobustnessError) as caught:
        load_study(path)
    check(str(caught.value), ["task", "no/such/folder"], tmp_path)


def check(line: str, words: list[str], folder: Path) -> None:
    """The line is one, has all the words, and nothing was written."""
    assert "\n" not in line
    for word in words:
        assert word in line
    assert [file.name for file in folder.iterdir()] == ["study.yaml"]
