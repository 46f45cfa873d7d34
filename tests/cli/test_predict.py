"""`robustness predict`: pictures in, probabilities and referrals out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.trials import SMALL_TASK, small_trial

from robustness.cli import main
from robustness.tasks import load_task
from robustness.trainables.classification import final_training as finishing
from robustness.trainables.classification.predictions import model_file


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("final")
    trial = replace(small_trial(training={"epochs": 2}), checkpoint=str(folder / "0.pt"))
    list(finishing.train(trial))
    return model_file(trial)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number, image in enumerate(load_task(SMALL_TASK).test.images[:5]):
        Image.fromarray(np.asarray(image)).resize((64, 64)).save(pictures / f"eye_{number}.png")
    return pictures


def answers(shown: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in shown.splitlines()]


def test_every_picture_of_a_folder_is_answered(model: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(model), str(folder), "--json"]) == 0
    found = answers(capsys.readouterr().out)
    assert [Path(str(a["image"])).name for a in found] == [f"eye_{n}.png" for n in range(5)]
    for answer in found:
        assert 0 <= float(str(answer["probability"])) <= 1
        assert float(str(answer["uncertainty"])) >= 0
    assert main(["predict", str(model), str(folder / "eye_3.png"), "--json"]) == 0
    (alone,) = answers(capsys.readouterr().out)
    assert alone["probability"] == pytest.approx(found[3]["probability"], rel=1e-5)


def test_the_table_shows_uncertainties_however_small(
    model: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", str(model), str(folder), "--json"]) == 0
    exact = [float(str(answer["uncertainty"])) for answer in answers(capsys.readouterr().out)]
    assert main(["predict", str(model), str(folder)]) == 0
    shown = [float(line.split()[1]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert shown == pytest.approx(exact, rel=0.06)


def test_all_are_referred_at_100_percent_and_none_at_0(
    model: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for percent, few in (("100", False), ("0", True)):
        assert main(["predict", str(model), str(folder), "--refer", percent, "--json"]) == 0
        referred = [a["refer"] for a in answers(capsys.readouterr().out)]
        assert sum(map(bool, referred)) <= 1 if few else sum(map(bool, referred)) >= 4


def test_a_damaged_picture_gets_one_line_and_the_others_are_still_predicted(
    model: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "eye_2.png").write_bytes(b"this is text")
    assert main(["predict", str(model), str(folder)]) == 2
    shown = capsys.readouterr()
    assert len(shown.err.splitlines()) == 1
    assert "eye_2.png: not an image" in shown.err
    assert len(shown.out.splitlines()) == 1 + 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.pt", "a.png"], "missing.pt: no such file"),
        (["MODEL", "FOLDER", "--samples", "0"], "--samples is 0"),
        (["MODEL", "FOLDER", "--refer", "120"], "--refer is 120"),
    ],
)
def test_bad_arguments_get_one_line(
    model: Path, folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    names = {"MODEL": str(model), "FOLDER": str(folder)}
    assert main(["predict", *(names.get(word, word) for word in arguments)]) == 2
    shown = capsys.readouterr().err
    assert words in shown
    assert len(shown.splitlines()) == 1


def test_a_missing_picture_is_named(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(model), "nowhere.png"]) == 2
    assert "nowhere.png" in capsys.readouterr().err


def test_an_empty_folder_is_named(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(model), str(tmp_path)]) == 2
    assert f"{tmp_path}: contains no images" in capsys.readouterr().err
