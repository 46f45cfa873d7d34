"""Training dynamics: the report finds and marks where an arm's training falls apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.stores import fill, made_study

from report.analysis import analyse
from report.drawing.style import drawing
from report.frames import StudyFrames, load_frames
from report.judged_study import JudgedStudy
from report.sections import dynamics
from robustness.store import open_store


@pytest.fixture
def frames(tmp_path: Path) -> StudyFrames:
    """Two arms of 61 epochs; mean-field's training leaves its best level after epoch 35, its noise grows from 25 on."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        read = load_frames(fill(store, made_study(configurations=1, epochs=61)))
    epochs = read.epochs.copy()
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(3, len(epochs)))
    number, broken = epochs["epoch"].to_numpy(), (epochs["arm"] == "mfvi").to_numpy()
    epochs["train_auc"] = 0.8 - 0.008 * np.maximum(0, number - 35) * broken + 0.01 * noise[0]
    epochs["nll"] = 0.5 + 0.008 * np.maximum(0, number - 35) * broken + 0.01 * noise[1]
    epochs["gradient_sd"] = np.where(
        number % 2 == 0, 0.01 * np.exp(0.08 * np.maximum(0, number - 25) * broken + 0.1 * noise[2]), np.nan
    )
    return replace(read, epochs=epochs)


def test_the_turns_of_each_arm_are_found_and_told(frames: StudyFrames) -> None:
    found = dynamics.results(JudgedStudy.of(frames))
    assert found is not None
    assert found["alone"]
    mfvi, radial = found["arms"]["mfvi"], found["arms"]["radial"]
    assert mfvi["train_auc"]["epoch"] == pytest.approx(35, abs=5)
    assert mfvi["nll"]["epoch"] == pytest.approx(35, abs=5)
    assert mfvi["gradient_sd"]["epoch"] == pytest.approx(25, abs=6)
    trial = mfvi["gradient_sd"]["trials"][0]
    assert trial["best"] == pytest.approx(0.01, rel=0.2)
    assert trial["end"] > 5 * trial["best"]
    assert all(radial[measure]["turned"] == 0 and radial[measure]["epoch"] is None for measure in radial)
    assert "mfvi: training AUC turns down after epoch" in found["sentences"][0]
    assert "never turns down" in found["sentences"][1]


def test_the_page_opens_with_the_turns_and_its_figures_mark_them(frames: StudyFrames) -> None:
    analysis = analyse(frames)
    assert analysis.results["verdict"] == analysis.results["turns"]["sentences"]
    (section,) = dynamics.sections(analysis)
    assert section.reading.startswith("mfvi: training AUC turns down after epoch")
    shown = {picture.title: picture for picture in section.pictures}
    epoch = analysis.results["turns"]["arms"]["mfvi"]["train_auc"]["epoch"]
    assert f"mfvi turns after epoch {epoch:g}" in shown["Training AUC"].description
    assert "turns after" not in shown["KL term of the loss"].description
    with drawing():
        axes = shown["Training AUC"].draw().axes[0]
    assert [label.get_text() for label in axes.texts].count(f"{epoch:g}") == 1
    assert any(np.asarray(line.get_xdata()).tolist() == [epoch, epoch] for line in axes.get_lines())


def test_a_study_without_enough_gradient_noise_is_not_looked_at(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        read = load_frames(fill(store, made_study(configurations=2)))
        assert dynamics.results(JudgedStudy.of(read)) is None


def test_training_accuracy_is_drawn_where_no_training_auc_was_measured(frames: StudyFrames) -> None:
    without = replace(frames, epochs=frames.epochs.drop(columns="train_auc"))
    (section,) = dynamics.sections(analyse(without))
    assert section.pictures[0].title == "Training accuracy"
    assert section.numbers is not None
    assert section.numbers.rows[0][1] == "training accuracy"
