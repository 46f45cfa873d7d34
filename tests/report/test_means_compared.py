"""What the page shows of a verdict by mean scores: the means, and over which family each p-value is corrected."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.kinds import runs
from support.results import present
from support.stores import Made, fill, made_study

from report.analysis import Analysis, analyse
from report.first_screen.arm_table import arm_table
from report.first_screen.screen import first_screen
from report.page import render
from report.sections import left_out, tasks
from report.sections.score_verdict import better_arm
from report.words import p_number
from robustness.api.importing import from_dataframe
from robustness.statistics.paired import holm
from robustness.store import open_store
from robustness.trial import Trial

FRAME = runs({"a": 0.0, "b": 0.04, "c": 0.038}, ("first", "second"))


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    url = f"sqlite:///{tmp_path_factory.mktemp('runs') / 'runs.db'}"
    return from_dataframe(FRAME, study="runs", store=url, arm="arm", metric="value", task="task").analysis


def test_the_table_of_arms_has_the_means_on_each_task_and_the_best_in_bold(analysis: Analysis) -> None:
    means = FRAME.pivot_table(index="arm", columns="task", values="value")
    table = arm_table(analysis)
    assert table is not None
    assert [row[1:] for row in table.numbers.rows] == [
        tuple(f"{value:.3f}" for value in means.loc[arm]) for arm in ("a", "b", "c")
    ]
    # b is best on each task and significantly better than a; c is bold where it is not shown to be worse than b.
    on = present(analysis.results["tasks"])["on"]
    best = {
        (row, 1 + place)
        for place, task in enumerate(on)
        for row, arm in enumerate(("a", "b", "c"))
        if arm == "b"
        or better_arm(next(e for e in task["scores"] if set(e["arms"]) == {arm, "b"}), analysis.frames) is None
    }
    assert {(1, 1), (1, 2)} <= best < {(row, column) for row in range(3) for column in (1, 2)}
    assert table.best == best
    assert "The verdict compares mean value on each task." in table.caption
    assert "Bold: the best mean, and any that does not differ significantly from it." in table.caption
    for row, column in best:
        assert f"<td><strong>{table.numbers.rows[row][column]}</strong></td>" in render(analysis)


def test_scores_by_task_are_corrected_over_two_families_that_the_page_names(analysis: Analysis) -> None:
    section = next(each for each in tasks.sections(analysis) if each.name == "task-scores")
    assert section.numbers is not None
    assert section.numbers.columns[-2:] == ("By Holm, over 6", "By Holm, over 3")
    found = analysis.results["tasks"]
    assert found is not None
    first = [entry["p_value"] for entry in found["on"][0]["scores"]]
    raw = [value for value in first if value is not None]
    rows = [row for row in section.numbers.rows if row[1] == "first"]
    assert [row[-1] for row in rows] == [p_number(value) for value in holm(raw)]
    over = [row for row in section.numbers.rows if row[1].startswith("over tasks")]
    assert [row[-2] for row in over] == ["–"] * 3
    assert any("over all 6 comparisons on single tasks, or over the 3 comparisons" in note for note in section.notes)


def test_the_headline_of_open_differences_has_the_p_value_before_and_after_correction(tmp_path: Path) -> None:
    frame = runs({"a": 0.0, "b": 0.001, "c": 0.0005})
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    open_ = from_dataframe(frame, study="runs", store=url, arm="arm", metric="value").analysis
    entry = max(open_.results["scores"], key=lambda each: abs(each["mean_difference"] or 0.0))
    said = f"; p = {p_number(entry['p_value'])}, {p_number(entry['p_adjusted'])} after Holm's correction over 3 comp"
    assert said in first_screen(open_).sentence
    verdict = " ".join(open_.results["verdict"])
    assert "The 95 % intervals are not corrected." in verdict
    assert "over 36 configurations" in verdict


def test_trials_that_did_not_finish_are_named_by_what_they_share(tmp_path: Path) -> None:
    def make(trial: Trial, epochs: int) -> Made:
        values = trial.hyperparameters
        lost = trial.arm == "mfvi" and values["optimizer"] == "sgd" and values["initial_rho"] == 0
        return Made("diverged", []) if lost else Made(scores=[0.8] * epochs)

    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        made = analyse(fill(store, made_study(configurations=60, epochs=3), make))
    drawn = made.frames.configurations
    count = int(((drawn["optimizer"] == "sgd") & (drawn["initial_rho"] == 0)).sum())
    (section,) = left_out.sections(made)
    assert section.reading == (
        f"{count} of 120 trials did not run to their end: all {count} diverged, all of mfvi, with optimizer sgd and "
        "initial_rho 0."
    )


def test_no_mean_is_bold_where_none_is_significantly_better(tmp_path: Path) -> None:
    frame = runs({"a": 0.0, "b": 0.0005, "c": 0.0003})
    url = f"sqlite:///{tmp_path / 'runs.db'}"
    table = arm_table(from_dataframe(frame, study="runs", store=url, arm="arm", metric="value").analysis)
    assert table is not None
    assert table.best == frozenset()
    assert "Bold" not in table.caption
