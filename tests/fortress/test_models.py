"""Checkpoints and model files: verified when read, and free of a stranger's code."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from support.hostile import READ, answer_of, is_one_safe_line, mutated, special_files
from support.trials import small_trial

from robustness.cli import main
from robustness.errors import CheckpointError
from robustness.guards.sealed import MAGIC, read_sealed, write_sealed
from robustness.trainables.classification import final_training
from robustness.trainables.classification.checkpoints import read_tensors, write_tensors
from robustness.trainables.classification.predictions import (
    load_predictions,
    model_file,
    predictions_file,
    save_predictions,
)
from robustness.trainables.classification.saved_model import load_model

KEPT = Path(__file__).parents[1] / "store" / "kept"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("final")
    trial = replace(small_trial(training={"epochs": 2}), checkpoint=str(folder / "0.pt"))
    list(final_training.train(trial))
    return model_file(trial)


def rewritten(model: Path, folder: Path, **changes: Any) -> Path:
    """The model with other values, and a checksum that matches; `trial` changes fields of its trial."""
    state = read_tensors(model)
    if "trial" in changes:
        changes["trial"] = json.dumps(json.loads(state["trial"]) | changes["trial"])
    path = folder / "changed.model.pt"
    write_tensors(path, state | changes)
    return path


def test_of_forty_damaged_files_none_changes_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import damage

    counts = damage.measure(cases=40, seed=1)
    assert sum(sum(answers.values()) for answers in counts.values()) == 40
    assert {answer for answers in counts.values() for answer in answers} == {"same numbers", "refused"}


def test_files_without_a_checksum_are_still_read() -> None:
    for name in ("checkpoint.pt", "radial.model.pt"):
        assert not (KEPT / name).read_bytes().startswith(MAGIC)
        assert read_tensors(KEPT / name)
    assert load_model(KEPT / "radial.model.pt").trial.method == "radial"


@pytest.mark.parametrize("seed", range(20))
def test_damage_to_a_file_without_a_checksum_is_noticed(seed: int, tmp_path: Path) -> None:
    content, path = (KEPT / "radial.model.pt").read_bytes(), tmp_path / "old.model.pt"
    path.write_bytes(mutated(content, np.random.default_rng(seed)))
    before = read_tensors(KEPT / "radial.model.pt")
    answer = answer_of(read_tensors, path)
    assert is_one_safe_line(answer)
    after = read_tensors(path) if answer == READ else before
    assert before["trial"] == after["trial"]
    assert all(torch.equal(before["weights"][name], after["weights"][name]) for name in before["weights"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"trial": {"method": "stranger:METHOD"}}, "names the method 'stranger:METHOD', which is not bundled"),
        ({"trial": {"method": "os:system"}}, "names the method"),
        ({"trial": {"method": "../radial"}}, "names the method"),
        ({"trial": {"trainable": "stranger:train"}}, "names the trainable 'stranger:train'"),
        ({"trial": {"task": {"name": "stranger"}}}, "names the task 'stranger'"),
        ({"trial": {"task": {"name": ["npz"]}}}, "names the task|cannot be rebuilt"),
        ({"trial": {"task": {}}}, "names the task None"),
        ({"trial": {"method": 3}}, "cannot be rebuilt"),
        ({"trial": {"surprise": 3}}, "cannot be rebuilt"),
        ({"trial": {"seed": "x"}}, "cannot be rebuilt"),
        ({"trial": {"model": {"name": "vgg16", "base_channels": 1024}}}, "weights, but the file has"),
        ({"trial": {"model": {"name": "mlp", "hidden": [10**9, 10**9]}}}, "weights, but the file has"),
        ({"trial": {"model": {"name": "mlp", "heads": 10**9}}}, "weights, but the file has"),
        ({"trial": {"method": "deep_ensemble", "method_options": {"members": 10**9}}}, "weights, but the file has"),
        ({"classes": 10**12}, "exceed the limit of 1,000"),
        ({"channels": 10**9}, "channels"),
        ({"channels": -1}, "channels"),
        ({"image_size": 10**6}, "images of 1000000 px"),
        ({"mean": torch.zeros(4)}, "cannot be rebuilt"),
        ({"mean": "0.5"}, "cannot be rebuilt"),
        ({"uncertainty": torch.zeros(2, 2)}, "cannot be rebuilt"),
        ({"weights": {}}, "weights, but the file has 0"),
        ({"weights": [1, 2]}, "cannot be rebuilt"),
        ({"epoch": "many"}, "cannot be rebuilt"),
        ({"format": 99}, "not a final model"),
    ],
)
def test_a_model_of_a_stranger_is_refused_in_one_line(
    change: dict[str, Any], words: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stranger.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(CheckpointError, match=words) as refusal:
        load_model(rewritten(model, tmp_path, **change))
    assert is_one_safe_line(str(refusal.value))
    assert "stranger" not in sys.modules


def test_trust_is_needed_to_run_the_code_that_a_model_names(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my_method.py").write_text("from robustness.methods.radial import METHOD\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    picture = tmp_path / "grey.png"
    Image.fromarray(np.full((16, 16, 3), 120, dtype=np.uint8)).save(picture)
    path = str(rewritten(model, tmp_path, trial={"method": "my_method:METHOD"}))
    assert main(["predict", path, str(picture)]) == 2
    assert "add --trust" in capsys.readouterr().err
    assert "my_method" not in sys.modules
    assert main(["predict", path, str(picture), "--trust", "--json"]) == 0
    trusted = capsys.readouterr().out
    assert main(["predict", str(model), str(picture), "--json"]) == 0
    assert capsys.readouterr().out == trusted


def test_an_archive_that_grows_in_memory_is_refused(tmp_path: Path) -> None:
    content = BytesIO()
    torch.save({"format": 2, "weights": torch.zeros(1_000_000)}, content)
    squeezed = BytesIO()
    with zipfile.ZipFile(content) as source, zipfile.ZipFile(squeezed, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(entry.filename, source.read(entry))
    for sealed in (True, False):
        path = tmp_path / f"{sealed}.pt"
        if sealed:
            write_sealed(path, squeezed.getvalue())
        else:
            path.write_bytes(squeezed.getvalue())
        with pytest.raises(CheckpointError, match="damaged, or not a model"):
            read_tensors(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBUSTNESS_LIMIT_MODEL_BYTES", "1000")
    with pytest.raises(CheckpointError, match=r"exceed the limit of 1,000; .*ROBUSTNESS_LIMIT_MODEL_BYTES="):
        read_tensors(KEPT / "radial.model.pt")


def test_what_is_no_file_is_no_model(tmp_path: Path) -> None:
    with special_files(tmp_path) as paths:
        for path in paths.values():
            with pytest.raises(CheckpointError) as refusal:
                load_model(path)
            assert is_one_safe_line(str(refusal.value))


def test_swapped_files_start_the_trial_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    training = {"epochs": 3, "checkpoint_every": 1}
    numbers = {}
    for name, seed in (("a", 3), ("b", 4)):
        (tmp_path / name).mkdir()
        trial = replace(small_trial(training=training), seed=seed, checkpoint=str(tmp_path / name / "0.pt"))
        numbers[name] = [dict(result.measures, seconds_per_epoch=0) for result in final_training.train(trial)]
    for file in ("0.pt", "0.model.pt"):
        shutil.copy(tmp_path / "b" / file, tmp_path / "a" / file)
    trial = replace(small_trial(training=training), checkpoint=str(tmp_path / "a" / "0.pt"))
    again = [dict(result.measures, seconds_per_epoch=0) for result in final_training.train(trial)]
    assert again == numbers["a"]
    assert "the trial starts again" in capsys.readouterr().err


def test_damaged_predictions_are_noticed(tmp_path: Path) -> None:
    trial = replace(small_trial(), checkpoint=str(tmp_path / "0.pt"))
    path = predictions_file(trial)
    save_predictions(path, labels=np.arange(9), probabilities=np.zeros((2, 9, 2)))
    content = path.read_bytes()
    assert load_predictions(path)["labels"].tolist() == list(range(9))
    for seed in range(20):
        path.write_bytes(mutated(content, np.random.default_rng(seed)))
        if path.read_bytes() != content:
            with pytest.raises(CheckpointError, match="damaged"):
                load_predictions(path)


def test_a_sealed_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_sealed(path, b"first")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write_sealed(path, b"second")
    assert read_sealed(path, "model_bytes", CheckpointError) == (b"first", True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
