"""The verdict at other thresholds, against the same study judged anew at thresholds between all of its scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.results import present
from support.stores import Made, fill, made_study

from report.analysis import Analysis, analyse
from report.frames import StudyFrames, load_frames
from report.judged_study import JudgedStudy
from report.judging import own_scores
from report.sections.other_thresholds import Gaps
from report.sections.thresholds import results, sections
from report.sections.verdict import decided
from robustness.store import open_store
from robustness.trial import Trial

ARMS = ("mfvi", "radial", "deterministic")


def scored(trial: Trial, epochs: int) -> Made:
    """Scores of which those of mfvi are lower, more so below 0.7; one trial has none."""
    if (trial.configuration, trial.arm) == (3, "mfvi"):
        return Made("diverged", [])
    rng = np.random.default_rng([trial.configuration, ARMS.index(trial.arm)])
    low = 0.45 if trial.arm == "mfvi" and trial.configuration % 3 else 0.6
    return Made(scores=[round(20 * rng.uniform(low, 0.9)) / 20] * epochs)


@pytest.fixture(scope="module", params=["learned_nothing", "good"])
def frames(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StudyFrames:
    study = made_study(arms=ARMS, configurations=24, epochs=3, outcomes={"primary": request.param})
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('made') / 'made.db'}") as store:
        return load_frames(fill(store, study, scored))


def test_no_exact_test_is_done_at_other_thresholds(frames: StudyFrames, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time grows with the square of the discordant pairs, and nothing shows it."""
    sizes: list[int] = []
    monkeypatch.setattr("robustness.statistics.paired.sign_flip", lambda differences: sizes.append(len(differences)))
    assert results(JudgedStudy.of(frames)) is not None
    assert sizes == []


def verdicts_at(frames: StudyFrames, threshold: float) -> dict[tuple[str, ...], str | None]:
    """Which arm the verdict favours if the study's own threshold is another."""
    key, side = ("good", "at_least") if frames.primary == "good" else ("learned_nothing", "below")
    outcomes = {**frames.document["outcomes"], key: {side: threshold}}
    judged = analyse(replace(frames, document={**frames.document, "outcomes": outcomes}))
    return {
        tuple(entry["arms"]): decided(entry)
        for entry in judged.results["paired"]
        if (entry["epoch"], entry["outcome"]) == (frames.rule, frames.primary)
    }


def gaps_of(analysis: Analysis) -> Iterator[tuple[float, float]]:
    scores = np.unique(own_scores(analysis.pairs, analysis.epoch).dropna())
    yield from zip(scores[:-1].tolist(), scores[1:].tolist(), strict=True)


def test_every_gap_has_the_verdict_of_a_study_with_a_threshold_in_it(frames: StudyFrames) -> None:
    analysis = analyse(frames)
    dependence = present(analysis.results["thresholds"])["dependence"]
    expected: dict[tuple[str, ...], list[tuple[float, float, str | None]]] = {}
    for low, high in gaps_of(analysis):
        for arms, winner in verdicts_at(frames, (low + high) / 2).items():
            expected.setdefault(arms, []).append((low, high, winner))
    assert any(winner for found in expected.values() for _, _, winner in found)
    for entry in dependence:
        found = expected[tuple(entry["arms"])]
        assert entry["every"]
        assert entry["checked"] == len(found)
        for arm in ARMS:
            own = [(low, high) for low, high, winner in found if winner == arm]
            shown = [each for each in entry["favouring"] if each["arm"] == arm]
            assert len(shown) == bool(own)
            for each in shown:
                assert (each["count"], each["low"], each["high"]) == (len(own), own[0][0], own[-1][1])
        inside = [w for low, high, w in found if entry["holds_from"] <= low and high <= entry["holds_to"]]
        assert set(inside) == {entry["favours"]}
        beside = [w for low, high, w in found if high == entry["holds_from"] or low == entry["holds_to"]]
        assert entry["favours"] not in beside


def test_the_page_names_the_correction_and_the_thresholds_checked(frames: StudyFrames) -> None:
    analysis = analyse(frames)
    (section,) = sections(analysis)
    entry = present(analysis.results["thresholds"])["dependence"][0]
    assert "significant there after Holm's correction over 3 comparisons" in section.notes[0]
    assert f"Checked at {entry['checked']} thresholds" in section.notes[0]
    assert section.numbers is not None
    for row, each in zip(section.numbers.rows, present(analysis.results["thresholds"])["dependence"], strict=True):
        assert row[1] == (each["favours"] or "neither")
        for favouring in each["favouring"]:
            assert f"{favouring['arm']} at {favouring['count']} (" in row[3]


@pytest.mark.parametrize(("upper", "own"), [(True, 1), (False, 2)])
def test_a_threshold_at_a_score_belongs_to_the_gap_with_its_outcomes(upper: bool, own: int) -> None:
    gaps = Gaps.of([np.array([[0.5, 0.6], [0.7, np.nan], [-np.inf, 0.6]])], 0.6, upper, 10)
    assert gaps.scores.tolist() == [0.5, 0.6, 0.7]
    assert gaps.own == own
    assert gaps.inside(own) == 0.6
    assert gaps.every


def test_a_threshold_beyond_all_scores_has_a_gap_of_its_own() -> None:
    gaps = Gaps.of([np.array([[0.5, 0.6]])], 0.4, True, 10)
    assert (gaps.own, gaps.chosen.tolist()) == (0, [0, 1])
    assert gaps.ends(0) == (0.4, 0.5)


def test_of_very_many_gaps_an_even_sample_is_checked() -> None:
    gaps = Gaps.of([np.linspace(0, 1, 1001)[:, None]], 0.5, True, 100)
    assert not gaps.every
    assert 100 <= len(gaps.chosen) <= 101
    assert gaps.own in gaps.chosen
    assert np.diff(gaps.chosen).max() <= 12


def test_the_lead_names_the_arm_behind_and_the_range(tmp_path: Path) -> None:
    def apart(trial: Trial, epochs: int) -> Made:
        low = 0.4 if trial.arm == "mfvi" else 0.7
        return Made(scores=[low + trial.configuration / 1000 + ARMS.index(trial.arm) / 10_000] * epochs)

    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        analysis = analyse(fill(store, made_study(arms=ARMS, configurations=40, epochs=3), apart))
    (section,) = sections(analysis)
    assert section.reading.startswith("mfvi stays behind radial and deterministic at every threshold from 0.4")
    assert section.reading.endswith("; none favours it.")
