"""`compare_with`: each arm against one of them, and Holm's correction over those comparisons only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats
from support.results import p_adjusted, p_value
from support.stores import Made, fill, made_study

from report.analysis import analyse
from report.drawing.style import drawing
from report.sections import against
from robustness.errors import StudyFileError
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.trial import Trial

ARMS = ("radial", "mfvi", "mfvi_scaled", "mc_dropout")


def _made(trial: Trial, epochs: int) -> Made:
    fails = {"mfvi": 12, "radial": 2, "mfvi_scaled": 11, "mc_dropout": 12}[trial.arm]
    return Made(scores=[0.5 if trial.configuration < fails else 0.9] * epochs)


def test_only_comparisons_with_the_named_arm_are_made_and_corrected_for(tmp_path: Path) -> None:
    study = replace(made_study(arms=ARMS, configurations=20), compare_with="mfvi")
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        analysis = analyse(fill(store, study, _made))
    main = [e for e in analysis.results["paired"] if e["outcome"] == "learned_nothing" and e["epoch"] == "best"]
    assert [entry["arms"] for entry in main] == [["mfvi", "radial"], ["mfvi", "mfvi_scaled"], ["mfvi", "mc_dropout"]]
    assert [entry["p_adjusted"] for entry in main] == pytest.approx(
        [3 * stats.chi2.sf(10, 1), 2 * stats.chi2.sf(1, 1), 1.0]
    )
    assert {tuple(entry["arms"]) for entry in analysis.results["scores"]} == {tuple(entry["arms"]) for entry in main}
    (section,) = against.sections(analysis)
    assert section.title == "Each against mfvi"
    assert "radial (-50 points" in section.reading
    assert "mc_dropout" not in section.reading
    assert section.numbers is not None
    assert [row[0] for row in section.numbers.rows] == ["radial", "mfvi_scaled", "mc_dropout"]
    with drawing():
        ticks = [tick.get_text() for tick in section.pictures[0].draw().axes[0].get_yticklabels()]
    assert ticks == ["radial", "mfvi_scaled", "mc_dropout"]


def test_scores_are_corrected_over_every_two_arms_where_no_arm_is_named(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        analysis = analyse(fill(store, made_study(arms=ARMS, configurations=20), _made))
    scores = [entry for entry in analysis.results["scores"] if entry["epoch"] == "best"]
    assert len(scores) == 6
    smallest = min(p_value(entry) for entry in scores)
    assert min(p_adjusted(entry) for entry in scores) == pytest.approx(6 * smallest)
    assert list(against.sections(analysis)) == []


def test_the_named_arm_decides_no_result_and_must_be_one_of_the_study() -> None:
    study = load_study("tweaks")
    assert study.document()["compare_with"] == "mfvi"
    assert replace(study, compare_with=None).hash == study.hash
    with pytest.raises(StudyFileError, match="compare_with: unknown arm 'mvfi'; did you mean 'mfvi'"):
        load_study("tweaks", ["compare_with=mvfi"])
