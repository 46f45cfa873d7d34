"""What a reader is told before trusting a verdict, from made-up studies that each have one weakness."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.stores import Made, fill, made_study

import robustness
from report.analysis import analyse
from report.page import write_report
from report.sections.cautions import cautions
from robustness.store import Store, open_store
from robustness.trial import Trial


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def told(store: Store, scores: Mapping[str, tuple[float, float]]) -> list[str]:
    """The cautions of 40 configurations in which each arm has these scores at its best and at its last epoch."""

    def make(trial: Trial, epochs: int) -> Made:
        best, last = scores[trial.method]
        return Made(scores=[best] * (epochs - 1) + [last])

    study = made_study(arms=tuple(scores), configurations=40, epochs=4)
    return cautions(analyse(fill(store, study, make)))


def test_a_sound_study_has_none(store: Store) -> None:
    assert told(store, {"mfvi": (0.52, 0.51), "radial": (0.9, 0.89)}) == []


def test_one_sentence_names_all_arms_that_other_thresholds_would_favour(store: Store) -> None:
    found = told(store, {"mfvi": (0.65, 0.64), "radial": (0.79, 0.78), "deterministic": (0.79, 0.78)})
    assert found == [
        "The verdict on mfvi and radial; mfvi and deterministic depends on the threshold: at the study's own (0.600) "
        "no difference is shown, at others radial or deterministic is favoured."
    ]


def test_a_pair_that_is_decided_is_not_said_to_be_open(store: Store) -> None:
    (found,) = told(store, {"mfvi": (0.5, 0.49), "radial": (0.65, 0.64), "deterministic": (0.79, 0.78)})
    assert found.startswith("The verdict on radial and deterministic depends on the threshold: ")
    assert found.endswith("at others deterministic is favoured.")


def test_a_verdict_of_few_thresholds_says_for_which(store: Store) -> None:
    # Every threshold between the two scores tells the arms apart.
    (found,) = told(store, {"mfvi": (0.58, 0.57), "radial": (0.61, 0.605)})
    assert found == ("The verdict on mfvi and radial, by its own test at each threshold, holds only from 0.58 to 0.61.")


def test_pairs_whose_epochs_disagree_alike_share_a_sentence(store: Store) -> None:
    found = told(store, {"mfvi": (0.75, 0.5), "radial": (0.75, 0.74), "deterministic": (0.75, 0.5)})
    assert [sentence for sentence in found if "epoch" in sentence] == [
        "The verdict on mfvi and radial; radial and deterministic depends on the epoch: at the best epoch the "
        "difference is not significant, at the last epoch radial is less sensitive."
    ]


def test_pairs_whose_epochs_disagree_differently_have_one_each(store: Store) -> None:
    found = told(store, {"mfvi": (0.75, 0.74), "radial": (0.75, 0.74), "deterministic": (0.75, 0.5)})
    assert [sentence.split(":")[0] for sentence in found if "epoch" in sentence] == [
        "The verdict on mfvi and deterministic depends on the epoch",
        "The verdict on radial and deterministic depends on the epoch",
    ]


def test_good_alone_is_no_threshold_that_overlaps_and_an_arm_without_results_leaves_no_pairs(tmp_path: Path) -> None:
    def fails(lr: float) -> float:
        return lr / 0

    def learns(lr: float) -> float:
        return lr

    url = f"sqlite:///{tmp_path / 'functions.db'}"
    options: dict[str, Any] = {"configurations": 5, "good": 0.5, "store": url, "inline": True, "quiet": True}
    space = {"lr": robustness.log(1e-3, 1)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = robustness.sweep({"a": learns, "b": fails}, space, **options)
        assert write_report(result.analysis, tmp_path / "page.html").is_file()
    found = cautions(result.analysis)
    assert "No trial of b can be judged: there are no pairs." in found
    assert any(sentence.startswith("Only 5 configurations: ") for sentence in found)
    assert not any("may count as having learned nothing" in sentence for sentence in found)
    assert sum("in another way" in sentence for sentence in found) == 1
