"""Every comparison at the best and at the last epoch, with the verdict that either would have."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stores import Made, fill, made_study

from report.analysis import Analysis, analyse
from report.sections.epochs import sections
from report.words import p_number
from robustness.store import open_store
from robustness.trial import Trial

ARMS = ("mfvi", "radial", "deterministic")


def ending(folder: Path, last: dict[str, float], arms: tuple[str, ...] = ARMS) -> Analysis:
    """Trials that are all good at their best epoch and end at a score of their arm."""

    def make(trial: Trial, epochs: int) -> Made:
        return Made(scores=[0.9] * (epochs - 1) + [last[trial.arm]])

    study = made_study(arms=arms, configurations=40, epochs=4)
    with open_store(f"sqlite:///{folder / 'made.db'}") as store:
        return analyse(fill(store, study, make))


def test_each_epoch_has_its_estimate_both_p_values_and_the_arm_favoured(tmp_path: Path) -> None:
    analysis = ending(tmp_path, {"mfvi": 0.5, "radial": 0.85, "deterministic": 0.84})
    (section,) = sections(analysis)
    assert section.numbers is not None
    assert section.title == "At the last epoch"
    assert section.numbers.columns[3:] == (
        "Best: by Holm, over 3",
        "Last: estimate",
        "Last: p",
        "Last: by Holm, over 3",
        "Favours",
    )
    rows = {row[0]: row[1:] for row in section.numbers.rows}
    other = rows["radial minus mfvi"][3:]
    assert other[3] == "best: neither, last: radial"
    entry = next(
        each
        for each in analysis.results["paired"]
        if (each["arms"], each["epoch"], each["outcome"]) == (["mfvi", "radial"], "last", "learned_nothing")
    )
    assert other[1:3] == (p_number(entry["p_value"]), p_number(entry["p_adjusted"]))
    assert section.reading.endswith("the verdict would be another on mfvi and radial; mfvi and deterministic.")


def test_a_verdict_that_both_epochs_share_is_said_to_be_the_same(tmp_path: Path) -> None:
    (section,) = sections(ending(tmp_path, dict.fromkeys(ARMS, 0.85)))
    assert section.reading == ("Judged at the last instead of the best epoch, every verdict would be the same.")


@pytest.mark.parametrize("arms", [("mfvi",)])
def test_a_single_arm_has_no_such_section(tmp_path: Path, arms: tuple[str, ...]) -> None:
    assert list(sections(ending(tmp_path, {"mfvi": 0.5}, arms))) == []
