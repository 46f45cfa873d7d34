"""What readers stumbled over on the page of imported runs without thresholds, of which two epochs are known."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.importing import imported
from support.results import present

from report.analysis import Analysis, analyse
from report.document import Section
from report.exploring.curves import ends_only
from report.exploring.section import explore_section
from report.first_screen.glossary import glossary
from report.first_screen.lines import comparisons_of
from report.first_screen.screen import first_screen
from report.frames import load_frames
from report.page import draw_parts, render
from report.sections import budget, controls, curves, pairs, profiles, spread
from report.sections.cautions import cautions
from report.sections.configurations import configuration_table
from report.sections.provenance import provenance
from robustness.store import open_store

KEPT = Path(__file__).parents[2] / "docs/results/deepdrid_robustness/trials.csv"
CONFIGURATIONS = 20


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Some configurations of deepdrid_robustness with its five arms; four trials of mfvi never had a score."""
    frame = pd.read_csv(KEPT)
    frame = frame[frame["configuration"] < CONFIGURATIONS]
    folder = tmp_path_factory.mktemp("runs")
    frame.to_csv(folder / "trials.csv", index=False)
    with open_store(f"sqlite:///{folder / 'runs.db'}") as store:
        imported(folder / "trials.csv").study.save(store, False)
        return analyse(load_frames(store.study("imported")))


def test_trials_without_a_score_are_named_by_arm(runs: Analysis) -> None:
    (said,) = [line for line in cautions(runs) if "before they reported" in line]
    assert said.startswith("4 of mfvi's 20 trials diverged before they reported a metric. In means, each counts as ")
    assert said.endswith(": means depend on that number, wins and medians hardly do.")


def test_the_verdict_by_means_is_not_said_to_be_at_a_threshold(runs: Analysis) -> None:
    (section,) = profiles.sections(runs)
    assert "one threshold" not in section.notes[0]
    assert "The verdict compares means" in section.notes[0]


def test_the_heading_of_a_part_names_its_sections(runs: Analysis) -> None:
    for part in draw_parts(runs):
        titles = [title for _, title in part["contents"]]
        named = part["about"].split(" · ")
        rest = len(titles) - 4
        assert [title[:30] for title in titles[:4]] == [each[:30] for each in named[:4]]
        assert named[4:] == ([f"and {rest} more"] if rest > 0 else [])


def test_both_corrections_say_what_they_are_over(runs: Analysis) -> None:
    (section,) = controls.sections(runs)
    family = "Holm's correction is over the six pairs of mfvi, mfvi_noise_matched, mfvi_scaled and radial; "
    assert section.notes[-1].startswith(family)
    assert section.notes[-1].endswith(
        "The verdict's correction is over 10 comparisons, so its p-values differ from these."
    )
    assert not set(section.reading.split(". ")) & set(" ".join(runs.results["verdict"]).split(". "))


def test_intervals_reach_a_tenth_of_the_configurations_wherever_they_are_shown(runs: Analysis) -> None:
    (section,) = budget.sections(runs)
    assert section.numbers is not None
    with_interval = {trials for _, trials, cell in section.numbers.rows if "[" in cell}
    assert with_interval == {"1", "2"}, "a tenth of 20"
    assert section.notes[-1].endswith("Intervals stop at n = 2, a tenth of the configurations.")
    assert section.reading.startswith("Expected best metric of 5 random trials: ")


def test_two_epochs_are_no_learning_curve(runs: Analysis) -> None:
    assert list(curves.sections(runs)) == []


def test_explore_names_only_the_test_it_shows(runs: Analysis) -> None:
    note = explore_section(runs)["note"]
    assert note.startswith("As in the rest of the page: Student’s interval and test of mean differences")
    assert "Tango" not in note
    assert "exact" not in note


def test_a_diverged_trial_has_no_score_in_the_table(runs: Analysis) -> None:
    table = configuration_table(runs)
    place = table.columns.index("mfvi")
    diverged = runs.trials[(runs.trials["arm"] == "mfvi") & (runs.trials["status"] == "diverged")]
    assert len(diverged) == 4
    assert diverged["score"].notna().all(), "in means, another score stands in for it"
    cells = {int(row[0]): row[place : place + 2] for row in table.rows}
    assert {cells[each] for each in diverged["configuration"]} == {("–", "diverged")}


def test_only_an_import_of_two_epochs_apart_has_ends_alone(runs: Analysis) -> None:
    assert ends_only(runs.frames)
    epochs = runs.frames.epochs
    near = epochs.assign(epoch=epochs.groupby(["configuration", "arm", "replicate"]).cumcount() + 1)
    assert not ends_only(replace(runs.frames, epochs=near)), "nothing lies between neighbours"
    native = {**runs.frames.document, "trainable": "classification"}
    assert not ends_only(replace(runs.frames, document=native))


def test_explore_says_how_many_trials_diverged_and_over_how_many_comparisons_holm_is(runs: Analysis) -> None:
    section = explore_section(runs)
    assert section["counted"] == (
        "100 trials of 20 configurations count here, 4 of which diverged (in plots and means, 0.3939 stands in for the "
        "4 without a score)."
    )
    assert section["reading"].startswith("Restrict")
    assert section["heads"] == ["Arms", "Estimate", "p", "p by Holm, over 10 comparisons", "Significant"]


def test_sections_say_which_panels_they_leave_out(runs: Analysis) -> None:
    assert "6 of 10 pairs of arms are drawn; the table has all." in one_section(runs, pairs).notes
    assert "3 of 10 differences of two profiles are drawn; the JSON has all." in one_section(runs, profiles).notes


def one_section(analysis: Analysis, module: Any) -> Section:
    (section,) = module.sections(analysis)
    assert isinstance(section, Section)
    return section


def test_regret_is_explained(runs: Analysis) -> None:
    (section,) = spread.sections(runs)
    assert any(note.startswith("In the table, regret is ") and "has no interval" in note for note in section.notes)


def test_an_import_says_which_runs_its_seed_is_of_and_what_its_command_does(runs: Analysis) -> None:
    made = provenance(runs.frames)
    runs_of = "one for each configuration and arm; the seed or replicate that the source names is 0 for all"
    assert dict(made.facts)["Runs"] == runs_of
    assert "Seed" not in dict(made.facts)
    assert made.commands_do == "Recreate this page with"


def test_undecided_comparisons_without_a_margin_say_so(runs: Analysis) -> None:
    screen = first_screen(runs)
    assert "6 comparisons are undecided" in screen.sentence
    assert screen.comparisons is not None
    open_ = [line for line in present(comparisons_of(runs)).lines if line.verdict == "undecided"]
    widest = max(abs(present(end)) for line in open_ for end in (line.low, line.high))
    said = (
        "No margin of equivalence was set, so no pair can be called equivalent; all 6 undecided intervals lie within ±"
    )
    bound = float(screen.comparisons.note.partition(said)[2].split(". ")[0])
    assert widest <= bound < widest + 0.001


def test_the_initial_noise_is_explained(runs: Analysis) -> None:
    assert "sigma = log(1 + exp(rho))" in dict(glossary(runs))["initial_rho"]


def test_hyperparameters_stand_before_scores_in_the_table(runs: Analysis) -> None:
    table = configuration_table(runs)
    assert table.columns[: 1 + len(table.varied)] == ("configuration", *table.varied)
    assert table.varied == tuple(runs.hyperparameters)
    # Four trials diverged, so that the status says something; without thresholds there are no outcomes.
    assert table.columns[-2:] == ("deterministic", "deterministic status")
    assert table.example == f"{table.varied[0]}={table.rows[0][1]}"
    place = table.columns.index("learning_rate_decay")
    configurations = runs.frames.configurations["learning_rate_decay"]
    assert [row[place] == "none" for row in table.rows] == configurations.isna().tolist()


def test_a_metric_that_is_merely_called_metric_is_no_unit(runs: Analysis) -> None:
    page = render(runs)
    words = " ".join(
        re.sub(r"(?s)<svg.*?</svg>|<[^>]+>", " ", page.partition("<main")[2].partition("<script")[0]).split()
    )
    assert not re.search(r"[\d)] metric\b|in metric\b|by metric\b|its metric\b", words)
    assert "compared by the metric at the best epoch" in page
