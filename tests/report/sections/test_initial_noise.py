from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.stores import fill, made_study

from report.analysis import Analysis, analyse
from report.frames import StudyFrames, load_frames
from report.sections import initial_noise
from report.sections.cautions import cautions
from robustness.store import open_store

WEIGHTS = 10_000


def with_noise(frames: StudyFrames, spread: float = 0.0) -> StudyFrames:
    """The frames with a recorded noise: softplus(rho), of radial divided by sqrt(D)."""
    rhos = frames.epochs["configuration"].map(frames.configurations["initial_rho"]).to_numpy(dtype=float)
    scale = np.where(frames.epochs["arm"] == "radial", 1 / math.sqrt(WEIGHTS), 1.0)
    # With a spread, every configuration has its own.
    noise = np.log1p(np.exp(rhos)) * scale * (1 + spread * frames.epochs["configuration"].to_numpy())
    first = frames.epochs["epoch"] == frames.epochs["epoch"].min()
    return replace(frames, epochs=frames.epochs.assign(noise_per_weight=np.where(first, noise, np.nan)))


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> StudyFrames:
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('noise') / 'store.db'}") as store:
        return load_frames(fill(store, made_study(configurations=40)))


@pytest.fixture(scope="module")
def analysis(frames: StudyFrames) -> Analysis:
    return analyse(with_noise(frames))


def test_every_arm_is_at_its_own_noise(analysis: Analysis) -> None:
    found = analysis.results["initial_noise"]
    assert found is not None
    sigmas = [math.log1p(math.exp(rho)) for rho in (-6, -4, -2, 0)]
    assert [level["noise"] for level in found["arms"]["mfvi"]] == pytest.approx(sigmas)
    assert [level["noise"] for level in found["arms"]["radial"]] == pytest.approx([sigma / 100 for sigma in sigmas])
    for arm, levels in found["arms"].items():
        own = analysis.trials[analysis.trials["arm"] == arm]
        for rho, level in zip((-6, -4, -2, 0), levels, strict=True):
            at = own[analysis.values("initial_rho")[own.index] == rho]
            share = level["learned_nothing"]
            assert (share["count"], share["of"]) == ((at["outcome"] == "learned_nothing").sum(), len(at))
            assert share["interval"] == "Wilson"


def test_a_continuous_noise_is_put_together_in_quarters(frames: StudyFrames) -> None:
    found = analyse(with_noise(frames, spread=0.01)).results["initial_noise"]
    assert found is not None
    assert [level["learned_nothing"]["of"] for level in found["arms"]["mfvi"]] == [10, 10, 10, 10]


def test_a_trial_without_an_epoch_started_like_its_neighbours(frames: StudyFrames, analysis: Analysis) -> None:
    whole = with_noise(frames)
    lost = whole.epochs[(whole.epochs["configuration"] == 3) & (whole.epochs["arm"] == "mfvi")].index
    missing = replace(whole, epochs=whole.epochs.assign(noise_per_weight=whole.epochs[initial_noise.NOISE].drop(lost)))
    assert analyse(missing).results["initial_noise"] == analysis.results["initial_noise"]


def test_the_page_has_all_arms_on_one_axis(analysis: Analysis) -> None:
    (section,) = initial_noise.sections(analysis)
    assert section.reading.startswith("Share that learned nothing, from the least to the most noise: mfvi ")
    assert "Arms on one curve would be consistent with failing by their noise alone" in section.notes[0]
    figure = section.pictures[0].draw()
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert [line.get_label() for line in axes.get_lines() if not str(line.get_label()).startswith("_")] == [
        "mfvi",
        "radial",
    ]


def test_a_comparison_of_arms_with_unequal_noise_has_a_caution(analysis: Analysis) -> None:
    (caution,) = initial_noise.unequal_noise(analysis)
    assert caution == (
        "The arms do not start with the same noise: the standard deviation of a weight is 0.0025 to 0.69 in mfvi and "
        "2.5e-05 to 0.0069 in radial. These ranges overlap only from 0.0025 to 0.0069, so this study cannot tell the "
        "method from the size of its initial noise."
    )
    assert caution in cautions(analysis)


def test_arms_with_alike_noise_have_no_such_caution(frames: StudyFrames) -> None:
    alike = with_noise(frames).epochs
    noise = alike[initial_noise.NOISE].where(alike["arm"] == "mfvi", alike[initial_noise.NOISE] * 100 / 2)
    analysis = analyse(replace(frames, epochs=alike.assign(noise_per_weight=noise)))
    assert analysis.results["initial_noise"] is not None
    assert list(initial_noise.unequal_noise(analysis)) == []


def test_without_a_recorded_noise_there_is_no_section(frames: StudyFrames) -> None:
    assert analyse(frames).results["initial_noise"] is None


def test_an_arm_without_noise_is_named(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        frames = with_noise(load_frames(fill(store, made_study(arms=("mfvi", "deterministic"), configurations=20))))
    own = frames.epochs["arm"] == "deterministic"
    epochs = frames.epochs.assign(noise_per_weight=frames.epochs[initial_noise.NOISE].mask(own))
    found = analyse(replace(frames, epochs=epochs)).results["initial_noise"]
    assert found is not None
    assert found["without"] == ["deterministic"]
