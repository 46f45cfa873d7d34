"""What readers with fresh eyes stumbled over, on pages of imported runs and of several tasks."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.kinds import KINDS
from support.results import present
from support.stores import Made, fill, from_table, made_study

from report.analysis import Analysis, analyse
from report.first_screen.glossary import arm_lines, glossary
from report.first_screen.screen import first_screen
from report.page import render
from report.sections import best_of, budget, interactions, left_out
from report.sections.cautions import cautions
from robustness.api.importing import from_dataframe
from robustness.store import open_store


def imported(folder: Path, rows: list[dict[str, object]], **options: object) -> Analysis:
    url = f"sqlite:///{folder / 'runs.db'}"
    frame = pd.DataFrame(rows)
    return from_dataframe(frame, study="runs", store=url, arm="arm", metric="value", **options).analysis  # type: ignore[arg-type]


def test_what_tuning_costs_is_left_out_where_scores_of_tasks_would_be_pooled(tmp_path: Path) -> None:
    analysis = KINDS["two tasks"](tmp_path)
    assert analysis.results["budget"]["arms"] == {}
    assert list(budget.sections(analysis)) == []
    assert 'id="budget"' not in render(analysis)


def test_the_chance_of_the_better_best_score_does_not_depend_on_the_unit_of_a_task(tmp_path: Path) -> None:
    def chances(factor: float) -> list[float]:
        noise = np.random.default_rng(0).normal(size=(2, 2, 14))
        rows: list[dict[str, object]] = [
            {"arm": arm, "task": task, "rate": place + 1, "value": float(noise[a, t, place]) * (factor if t else 1.0)}
            for a, arm in enumerate("ab")
            for t, task in enumerate(("first", "second"))
            for place in range(14)
        ]
        folder = tmp_path / str(factor)
        folder.mkdir()
        (entry,) = best_of.results(imported(folder, rows, task="task").study)["comparisons"]
        return [win["probability"] for win in entry["trials"]]

    assert chances(1000.0) == pytest.approx(chances(1.0))


def test_each_task_has_its_own_chance_of_winning(tmp_path: Path) -> None:
    """The arm that wins on one task may lose on the other, and over both they are alike."""
    rows: list[dict[str, object]] = [
        {"arm": arm, "task": task, "rate": place + 1, "value": place + 100.0 * ((arm == "b") == (task == "first"))}
        for arm in "ab"
        for task in ("first", "second")
        for place in range(14)
    ]
    analysis = imported(tmp_path, rows, task="task")
    found = best_of.results(analysis.study)
    chances = {
        each["task"]: {win["first"]: win["probability"] for win in each["comparisons"][0]["trials"]}[5]
        for each in found["tasks"]
    }
    assert chances == pytest.approx({"first": 0.0, "second": 1.0})
    assert found["comparisons"][0]["trials"][0]["probability"] == pytest.approx(0.5)
    assert all(not entry["hours"] for each in found["tasks"] for entry in each["comparisons"])
    (section,) = best_of.sections(analysis)
    assert section.numbers is not None
    assert {row[0] for row in section.numbers.rows} == {"first", "second", "all tasks together"}
    # The sentence is about all tasks together; the table has each of them.
    said = section.reading.replace("\u00a0", " ")
    assert said.startswith(
        "How likely the best of 1 random trial of the arm named first beats the best of 1 of the other"
    )
    assert ", over all tasks together: b against a 50.0 %" in said
    assert "first 100.0 %" not in said
    assert any(note.startswith("On a task, each arm is tuned for that task.") for note in section.notes)


def test_an_import_whose_difference_grows_after_the_best_epoch_says_so(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {
            "arm": arm,
            "rate": place + 1,
            "epoch": epoch,
            "value": 0.6 + 0.002 * place + better + (0.001 * place if a else 0),
        }
        for place in range(20)
        for a, (arm, at) in enumerate({"a": ((3, 0.2), (12, -0.1)), "b": ((5, 0.22), (12, 0.2))}.items())
        for epoch, better in at
    ]
    (found,) = [each for each in cautions(imported(tmp_path, rows, epoch="epoch", judged="best")) if "epoch" in each]
    assert found.startswith(
        "No verdict changes with the epoch, but the size of the difference does: b minus a in the mean value is +0.0"
    )
    assert " at the best epoch, +0.3" in found


def test_the_headline_of_open_differences_names_the_smallest_p_value_and_no_winner(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(0, 0.05, size=(3, 15))
    rows: list[dict[str, object]] = [
        {"arm": arm, "rate": place + 1, "value": 3 + float(noise[a, place])}
        for a, arm in enumerate("abc")
        for place in range(15)
    ]
    analysis = imported(tmp_path, rows, goal="minimize")
    least = min(analysis.results["scores"], key=lambda entry: entry["p_value"] or 1.0)
    words = first_screen(analysis).sentence
    assert f"the smallest p-value is that of {' and '.join(least['arms'])}, which differ by " in words
    assert not re.search("favour|better|higher|lower", words)


def test_a_table_of_many_tasks_stands_above_the_warnings(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"arm": arm, "task": f"task {task}", "rate": place + 1, "value": 0.1 * task + 0.01 * place}
        for arm in "ab"
        for task in range(5)
        for place in range(6)
    ]
    assert first_screen(imported(tmp_path, rows, task="task")).stacked
    assert not first_screen(KINDS["two tasks"](tmp_path)).stacked


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Twenty pairs whose difference depends on nothing, some of them diverged."""
    rng = np.random.default_rng(3)
    table: dict[tuple[int, str], float | Made | None] = {
        (place, arm): float(rng.choice([0.55, 0.85], p=[lost, 1 - lost]))
        for place in range(20)
        for arm, lost in (("mfvi", 0.6), ("radial", 0.3))
    }
    table[3, "mfvi"] = Made(scores=[0.7, 0.72], status="diverged")
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('few') / 'store.db'}") as store:
        return analyse(fill(store, made_study("few", configurations=20), from_table(table)))


def test_few_pairs_say_what_they_cannot_show_and_where_trials_fail(few: Analysis) -> None:
    (section,) = interactions.sections(few)
    assert section.title == "Where mfvi and radial differ"
    assert "With 20 pairs only a strong dependence would be found." in section.reading
    assert section.reading.startswith("No hyperparameter is shown to change the difference")
    assert section.numbers is not None
    # Sentence, picture and table begin with the same hyperparameter, that of the smallest p-value.
    tested = few.results["interactions"][0]["hyperparameters"]
    named = min(tested, key=lambda name: (tested[name]["p_value"], -present(tested[name]["explained"])))
    assert f"smallest p-value, {named}, explains" in section.reading
    assert f"Trials that learned nothing, by {named}: " in section.reading
    assert section.pictures[0].title == f"Score by {named}"
    assert section.numbers.rows[0][0] == named
    assert not any("group" in note for note in section.notes)
    at = list(section.numbers.columns)
    assert at[3:6] == [
        "radial: learned nothing",
        "mfvi: learned nothing",
        "radial minus mfvi, share that learned nothing",
    ]
    trials = few.trials
    for name, value, size, radial, *_ in section.numbers.rows:
        chosen = (few.values(name).astype(str) == value) & (trials["arm"] == "radial")
        lost = int((trials.loc[chosen, "outcome_best"] == "learned_nothing").sum())
        if chosen.any():
            assert radial == f"{lost} of {size}"
            assert int(size) == int(chosen.sum())


def test_the_page_says_how_diverged_trials_count(few: Analysis) -> None:
    (section,) = left_out.sections(few)
    said = "A trial that diverged counts by its best epoch before that; without one, it has learned nothing"
    assert section.notes[0].startswith(said)
    assert dict(glossary(few))["not run to its end"].startswith(said)


def test_statements_about_thresholds_name_their_tests(few: Analysis) -> None:
    page = render(few)
    assert "An arm is favoured at a threshold if the verdict&#39;s test is significant there." in page
    assert "By counting alone, without a test, " in page
    assert "tested at all thresholds together, " in page


def test_the_page_says_what_each_arm_is(few: Analysis, tmp_path: Path) -> None:
    assert dict(arm_lines(few))["radial"].startswith("Radial Bayesian neural networks")
    assert "imported runs" in dict(arm_lines(KINDS["no thresholds"](tmp_path)))["fast"]
    page = render(few)
    assert '<details class="glossary">' in page
    nothing = "a trial whose validation AUC is below 0.600, or that diverged before it was judged"
    assert f"<dt>learned nothing</dt><dd>{nothing}</dd>" in page


def test_comparisons_that_depend_on_the_same_hyperparameter_share_a_section(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {
            "arm": arm,
            "rate": place % 4 + 1,
            "width": place // 4 + 1,
            "value": 0.5 + (0.3 * (place % 4) if arm != "a" else 0),
        }
        for arm in "abc"
        for place in range(40)
    ]
    found = list(interactions.sections(imported(tmp_path, rows)))
    assert [section.title for section in found] == ["Where a differs from b and c"]
    assert "in each of these 2 comparisons" in found[0].reading
    assert found[0].numbers is not None
    assert {row[0] for row in found[0].numbers.rows} == {"b minus a", "c minus a"}
