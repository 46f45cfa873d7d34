"""What the explored page says about its units: of differences, of points, of epochs, of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.browser import Browser
from support.exploring import tick, words
from support.importing import imported
from support.stores import Made, fill, made_study

from report.analysis import Analysis, analyse
from report.embedding import asset
from report.page import write_report
from report.words import number
from robustness.api.importing import from_dataframe
from robustness.store import open_store

pytestmark = pytest.mark.xdist_group("report_pages")

KEPT = Path(__file__).parents[3] / "docs/results/deepdrid_robustness/trials.csv"


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Analysis]:
    """The page of three arms on three tasks, without thresholds."""
    rng, folder = np.random.default_rng(5), tmp_path_factory.mktemp("tasks")
    runs = [
        {"arm": arm, "rate": rate, "task": task, "value": spread * (rng.normal() + better)}
        for arm, better in (("adam", 0.0), ("sgd", 0.3), ("a_third_one", 0.5))
        for task, spread in (("cifar", 1.0), ("mnist", 0.1), ("svhn", 5.0))
        for rate in (1e-5, 1e-4, 0.001, 0.01, 0.1)
    ]
    store = f"sqlite:///{folder / 'runs.db'}"
    named = {"arm": "arm", "metric": "value", "task": "task", "goal": "maximize"}
    analysis = from_dataframe(pd.DataFrame(runs), study="tasks", store=store, **named).analysis  # type: ignore[arg-type]
    return write_report(analysis, folder / "page.html"), analysis


def test_differences_name_their_unit_and_one_task_has_the_metrics_own(
    browser: Browser, tasks: tuple[Path, Analysis]
) -> None:
    page, analysis = tasks
    browser.open(page)
    heads = "return [...document.querySelectorAll('.differences thead th')].map(each => each.textContent)"
    assert browser.run(heads) == ["Arms", "Estimate", "p", "p by Holm, over 3 comparisons", "Significant"]
    assert browser.run("return document.querySelectorAll('[data-measure] select').length") == 0, "a single choice"
    assert words(browser, "[data-unit]") == " in the mean value, in standard deviations of its task"
    assert words(browser, "[data-kept]") == "5 of 5 configurations, 3 of 3 tasks"
    spread = analysis.trials.groupby("task")["score"].std(ddof=1)
    note = words(browser, "[data-deviation]")
    assert note.startswith("Standard deviation of a task: over all configurations of all arms, whatever is kept here (")
    for task, value in spread.items():
        assert f"{task} {value:.2g}" in note
    tick(browser, "task", "cifar")
    assert words(browser, "[data-deviation]") == note
    tick(browser, "task", "svhn")
    assert words(browser, "[data-kept]") == "5 of 5 configurations, 1 of 3 tasks"
    assert words(browser, "[data-unit]") == " in the mean value on mnist"
    assert words(browser, "[data-deviation]") == ""
    own = analysis.trials[analysis.trials["task"] == "mnist"].groupby("arm")["score"].mean()
    first = words(browser, "[data-comparisons] td")
    assert first.startswith(f"{own['sgd'] - own['adam']:+.3f}".replace("-", "−"))
    assert "Not affected by your restriction" in words(browser, ".whole")
    assert browser.drain()[0] == []


def test_points_of_several_tasks_are_not_called_configurations(browser: Browser, tasks: tuple[Path, Analysis]) -> None:
    browser.open(tasks[0])
    said = words(browser, "[data-views]")
    assert "Each point is one configuration on one task, in the colour" in said
    assert "Each line is one configuration on one task." in said


def test_parallel_lines_have_the_colour_of_the_chosen_arms_score(
    browser: Browser, tasks: tuple[Path, Analysis]
) -> None:
    page, analysis = tasks
    lines = (
        "return Object.fromEntries([...document.querySelectorAll('.lines.kept')].map(path =>"
        "[path.getAttribute('class').match(/shade(-?\\d)/)[1], path.getAttribute('d').split('M').length - 1]))"
    )
    for arm, name in enumerate(("adam", "sgd", "a_third_one")):
        browser.open(page, f"#explore?shade={arm}")
        scores = analysis.trials.loc[analysis.trials["arm"] == name, "score"]
        every = analysis.trials["score"]
        low, high = every.min(), every.max()
        margin = 0.04 * (high - low)
        steps = np.floor(5 * (scores - low + margin) / (high - low + 2 * margin)).astype(int)
        assert browser.run(lines) == {str(step): int(count) for step, count in steps.value_counts().items()}


def test_no_line_runs_through_the_labels_of_parallel_coordinates(
    browser: Browser, tasks: tuple[Path, Analysis]
) -> None:
    browser.look(1280)
    browser.open(tasks[0], "#explore?select=0-5")
    found = browser.run(
        "const svg = document.querySelector('#explore .stage .lines').closest('svg');"
        "const marks = svg.querySelector('.marks');"
        "return [...svg.querySelectorAll('text')].map(text => { const ground = text.previousElementSibling,"
        "a = ground.getBoundingClientRect(), b = text.getBoundingClientRect();"
        "return [ground.matches('.ground'), a.left <= b.left + 2 && b.right <= a.right + 2,"
        "Boolean(marks.compareDocumentPosition(ground) & Node.DOCUMENT_POSITION_FOLLOWING)] })"
    )
    assert len(found) > 8
    assert all(all(each) for each in found), found


def test_a_learning_curve_has_an_axis_as_long_as_its_training(browser: Browser, tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        short, whole = [0.6, 0.7, 0.8, 0.7, 0.8], [0.5, 0.9] * 40
        study = made_study("lengths", epochs=40)
        analysis = analyse(fill(store, study, lambda t, e: Made(scores=whole[:e] if t.configuration else short)))
    browser.look(1280)
    browser.open(write_report(analysis, tmp_path / "page.html"), "#explore?select=0")
    texts = "return [...document.querySelectorAll('[data-card] .axes text')].map(each => each.textContent)"
    assert max(float(each) for each in browser.run(texts) if each[:1].isdigit()) < 15


def test_axes_of_scores_name_the_metric_and_have_several_ticks(browser: Browser, tasks: tuple[Path, Analysis]) -> None:
    browser.open(tasks[0])
    labels = browser.run(
        "return [...document.querySelectorAll('#explore .stage')[0].querySelectorAll('text')].map(t => t.textContent)"
    )
    assert "value, adam" in labels
    assert labels[labels.index("value,") + 1] == "sgd"
    heights = browser.run(
        "return [...document.querySelectorAll('#explore .stage')[0].querySelectorAll('text[text-anchor=end]')]"
        ".filter(t => !t.getAttribute('transform') && !t.classList.contains('name')).length"
    )
    assert heights >= 4, labels


def test_the_filters_example_is_of_this_study_and_finds_rows(browser: Browser, tasks: tuple[Path, Analysis]) -> None:
    browser.open(tasks[0])
    browser.run("for (const part of document.querySelectorAll('details.part')) part.open = true")
    example = browser.run("return document.getElementById('filter').placeholder")
    assert example == "rate=1e-5"
    assert words(browser, "#filter-help code") == example
    browser.run(
        "const box = document.getElementById('filter'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('input', {bubbles: true}))",
        example,
    )
    assert words(browser, "[data-shown]") == "1 to 3 of 3 that match, 15 in all"


def test_two_epochs_are_points_without_a_line(browser: Browser, tmp_path: Path) -> None:
    frame = pd.read_csv(KEPT)
    frame[frame["configuration"] < 6].to_csv(tmp_path / "trials.csv", index=False)
    with open_store(f"sqlite:///{tmp_path / 'runs.db'}") as store:
        imported(tmp_path / "trials.csv").study.save(store, False)
        page = write_report(analyse(store.study("imported")), tmp_path / "page.html")
    browser.open(page, "#explore?select=0")
    assert words(browser, "[data-card] figcaption") == "Best and last epoch; the epochs between were not recorded"
    paths = browser.run("return [...document.querySelectorAll('[data-card] svg .dots')].map(p => p.getAttribute('d'))")
    assert any(paths)
    assert not any("L" in path for path in paths)
    assert browser.run("return document.querySelectorAll('[data-card] svg .line').length") == 0


def test_the_script_writes_numbers_as_python_does(browser: Browser, tasks: tuple[Path, Analysis]) -> None:
    browser.open(tasks[0])
    values = [0, 1e-5, 1.585e-5, 1e-4, 5e-4, 0.0009999, 0.001, 0.01, 1.5, -6, 16, 1024, -2.5e-7, 0.62]
    found = browser.run(asset("scripts/elements.js") + "return arguments[0].map(short)", values)
    assert found == [number(value) for value in values]
    assert found[1:5] == ["1e-5", "1.585e-5", "1e-4", "5e-4"]


def test_names_of_arms_never_leave_their_square_alone(browser: Browser, tasks: tuple[Path, Analysis]) -> None:
    browser.open(tasks[0], "#explore?select=0")
    apart = browser.run(
        "return [...document.querySelectorAll('th > .swatch')].map(each => {"
        "const range = document.createRange(); range.selectNodeContents(each.parentElement); range.setStartAfter(each);"
        "const line = range.getClientRects()[0], box = each.getBoundingClientRect();"
        "return [box.right <= line.left, box.top < line.bottom && box.bottom > line.top]})"
    )
    assert len(apart) >= 3
    assert all(beside and level for beside, level in apart), apart


def test_controls_stay_beside_the_plots_and_no_card_covers_the_bar(
    browser: Browser, tasks: tuple[Path, Analysis]
) -> None:
    browser.look(1600)
    browser.open(tasks[0], "#explore?select=0")
    browser.run("[...document.querySelectorAll('#explore .views figure')].pop().scrollIntoView({block: 'end'})")
    browser.settle()
    bar, controls, seen = browser.run(
        "const [bar, controls] = ['.ask', '.controls'].map(s => document.querySelector(s).getBoundingClientRect());"
        "return [[bar.top, bar.bottom], [controls.top, controls.bottom], innerHeight]"
    )
    assert bar[0] == 0, "it sticks to the window's upper edge"
    assert bar[1] <= controls[0] < controls[1] <= seen
    # Where the views end, the card moves up with them.
    browser.run("scrollTo(0, scrollY + document.querySelector('.asked').getBoundingClientRect().bottom - 150)")
    browser.settle()
    covered = browser.run(
        "const bar = document.querySelector('.ask').getBoundingClientRect();"
        "return [0.1, 0.5, 0.9, 0.99].map(share => Boolean(document.elementFromPoint("
        "bar.left + share * bar.width, Math.max(1, bar.bottom - 6))?.closest('.ask')))"
    )
    assert covered == [True] * 4
