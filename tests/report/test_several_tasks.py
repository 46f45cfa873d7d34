"""Three arms on five tasks, without thresholds: units, panels, names and ranks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure

from report.analysis import Analysis
from report.comparison import score_comparisons, task_units
from report.drawing.axes import legend_above
from report.drawing.rank_line import draw_ranks
from report.drawing.style import Arms, drawing, panel
from report.first_screen.screen import first_screen
from report.page import breakable, draw_parts
from report.sections import curves, interactions, pairs, profiles, tasks
from report.sections.configurations import configuration_table, score_beside
from report.words import number
from robustness.api.importing import from_dataframe

ARMS = ("AdamOptimizer", "GradientDescentOptimizer", "MomentumOptimizer")
TASKS = ("cifar", "mnist", "svhn", "text", "wine")
RATES = 10.0 ** np.linspace(-5, 2, 15)


def accuracy(arm: int, task: int, rate: float, epoch: int) -> float:
    """Each arm has its own best rate, and each task its own spread."""
    ready = (task + 1) / 5 * np.exp(-((np.log10(rate) + 4 - 1.5 * arm) ** 2))
    return float(0.1 + 0.8 * ready * (epoch + 2) / 5 + 0.01 * np.sin(17 * rate + task + arm))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    rows = [
        {"optimiser": name, "rate": rate, "problem": task, "epoch": epoch, "value": accuracy(arm, at, rate, epoch)}
        for arm, name in enumerate(ARMS)
        for at, task in enumerate(TASKS)
        for rate in RATES
        for epoch in (1, 2, 3)
    ]
    store = f"sqlite:///{tmp_path_factory.mktemp('several') / 'runs.db'}"
    named = {"arm": "optimiser", "metric": "value", "task": "problem", "epoch": "epoch", "goal": "maximize"}
    return from_dataframe(pd.DataFrame(rows), study="several", store=store, **named).analysis  # type: ignore[arg-type]


def test_a_restriction_keeps_the_standard_deviation_of_the_whole_study(several: Analysis) -> None:
    frames, study = several.frames, several.study
    rates = frames.configurations["rate"]
    kept = study.trials["configuration"].isin(rates.index[rates < 1e-3]) & (study.trials["task"] != "wine")
    part = study.restricted(kept)
    (found, *_) = score_comparisons(part.planned, frames, part.sample, [frames.rule])
    trials = study.trials.assign(score=study.trials[f"score_{frames.rule}"])
    spread = trials.groupby("task")["score"].std(ddof=1)
    wide = trials[kept].pivot_table(index=["configuration", "task"], columns="arm", values="score")
    raw = wide[found["arms"][0]] - wide[found["arms"][1]]
    expected = (raw / spread.loc[raw.index.get_level_values("task")].to_numpy()).groupby("configuration").mean()
    assert found["mean_difference"] == pytest.approx(expected.mean(), abs=1e-12)
    own = trials[kept].groupby("task")["score"].std(ddof=1)
    assert (own / spread - 1).abs().max() > 0.05, "within the restriction, scores spread differently"


def test_a_restriction_to_one_task_is_in_the_metrics_own_unit(several: Analysis) -> None:
    frames, study = several.frames, several.study
    part = study.restricted(study.trials["task"] == "svhn")
    (found, *_) = score_comparisons(part.planned, frames, part.sample, [frames.rule])
    own = part.planned.groupby("arm")[f"score_{frames.rule}"].mean()
    assert found["mean_difference"] == pytest.approx(own[found["arms"][0]] - own[found["arms"][1]], abs=1e-12)


def test_where_draws_every_arm_of_its_title_in_a_panel_for_each_task(several: Analysis) -> None:
    section = next(iter(interactions.sections(several)))
    scores = [picture for picture in section.pictures if picture.title.startswith("Score by rate")]
    assert [picture.title for picture in scores] == [f"Score by rate: {task}" for task in TASKS]
    named = [arm for arm in ARMS if arm in section.title]
    assert len(named) >= 2
    with drawing():
        figures = [picture.draw() for picture in scores]
    for task, figure in enumerate(figures):
        (axes,) = figure.axes
        lines = [line for line in axes.lines if str(line.get_label()) in named]
        assert [line.get_label() for line in lines] == named
        assert axes.get_legend() is None
        assert [words.get_text() for legend in figure.legends for words in legend.get_texts()] == named
        points = [line for line in axes.lines if line.get_linestyle() == "None"]
        heights = np.sort(np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in points]))
        expected = [accuracy(ARMS.index(arm), task, rate, 3) for arm in named for rate in RATES]
        assert heights == pytest.approx(np.sort(expected), abs=1e-9)
    assert (
        section.notes[0]
        == "Each point is a trial; each line joins the medians of 8 groups of trials of equal size, by arm."
    )


def test_titles_in_the_contents_are_short_and_names_break_between_their_words(several: Analysis) -> None:
    contents = dict(entry for part in draw_parts(several) for entry in part["contents"])
    short = {title for name, title in contents.items() if name.startswith("interactions")}
    assert short
    assert short <= {f"Where {arm} differs" for arm in ARMS}
    assert breakable("Where GradientDescentOptimizer") == "Where Gradient<wbr>Descent<wbr>Optimizer"
    assert breakable("mfvi_noise_matched <b>") == "mfvi_<wbr>noise_<wbr>matched &lt;b&gt;"
    assert breakable("validation AUC") == "validation AUC"


def test_curves_without_thresholds_have_no_outcomes(several: Analysis) -> None:
    (section,) = curves.sections(several)
    assert section.numbers is None
    assert "between" not in section.pictures[0].description
    with drawing():
        figure = section.pictures[0].draw()
    assert figure.legends == []


def test_the_table_without_thresholds_has_scores_alone(several: Analysis) -> None:
    table = configuration_table(several)
    assert table.columns == ("task", "configuration", "rate", *ARMS)
    assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.8, "0.8000"), (0.79997, "0.79997"), (0.8000049, "0.800005"), (0.7, "0.7000"), (0.80004, "0.80004")],
)
def test_a_score_beside_a_threshold_shows_its_side(value: float, written: str) -> None:
    assert score_beside(value, (0.62, 0.8)) == written


def test_equal_scores_are_crosses_and_the_section_says_so(several: Analysis, tmp_path: Path) -> None:
    (section,) = pairs.sections(several)
    assert not any("cross" in note for note in section.notes)
    rows = [
        {"arm": arm, "rate": place, "value": 0.5 + place / 20 * (arm == "b" and place > 2)}
        for place in range(8)
        for arm in "ab"
    ]
    store = f"sqlite:///{tmp_path / 's.db'}"
    ties = from_dataframe(pd.DataFrame(rows), study="ties", store=store, arm="arm", metric="value").analysis
    (section,) = pairs.sections(ties)
    assert "A cross is a configuration whose scores are equal." in section.notes


def renderer_of(figure: Figure) -> RendererAgg:
    """The renderer after the figure was laid out."""
    renderer = RendererAgg(figure.bbox.width, figure.bbox.height, figure.dpi)  # type: ignore[no-untyped-call]
    figure.draw(renderer)
    return renderer


def test_legends_keep_whole_names_above_the_axes(several: Analysis) -> None:
    with drawing():
        figure, axes = panel()
        for arm in (*ARMS, "a_rather_long_name_of_an_arm"):
            axes.plot([0, 1], [0, 1], label=arm)
        legend_above(figure)
        renderer = renderer_of(figure)
        (legend,) = figure.legends
        box = legend.get_window_extent(renderer)
        assert [words.get_text() for words in legend.get_texts()][-1] == "a_rather_long_name_of_an_arm"
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= axes.get_window_extent(renderer).y1


def test_bars_of_ranks_lie_in_rows_of_their_own_within_the_axes() -> None:
    means = dict(zip(ARMS, (2.4, 2.0, 1.6), strict=True))
    with drawing():
        figure = draw_ranks(means, 1.48, Arms(ARMS))
        renderer = renderer_of(figure)
    (axes,) = figure.axes
    rows = {label.get_text(): place for place, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)}
    assert list(rows) == ["critical difference 1.48", *sorted(means, key=lambda arm: means[arm]), "not told apart"]
    (bar,) = [line for line in axes.lines if line.get_linewidth() == 4]
    assert set(np.asarray(bar.get_ydata(), dtype=float)) == {rows["not told apart"]}
    assert sorted(np.asarray(bar.get_xdata(), dtype=float)) == [1.6, 2.4]
    low, high = axes.get_xlim()
    assert all(low <= x <= high for line in axes.lines for x in np.asarray(line.get_xdata(), dtype=float))
    assert all(label.get_window_extent(renderer).x0 >= 0 for label in axes.get_yticklabels())
    assert not list(axes.texts)


def test_the_first_screen_says_what_its_unit_is_and_which_numbers_have_another(several: Analysis) -> None:
    screen = first_screen(several)
    assert screen.comparisons is not None
    assert (
        "1 SD is how far the scores on a task, of all arms and configurations, typically lie from their mean."
        in screen.comparisons.note
    )
    assert "No margin of equivalence was set, so no pair can be called equivalent" in screen.comparisons.note
    assert " in the metric" not in screen.location
    assert " in value itself, not in standard deviations (95 % interval " in screen.location


def test_extra_seeds_of_a_configuration_do_not_weigh_more_in_the_unit(tmp_path: Path) -> None:
    rows = [
        {
            "arm": arm,
            "rate": rate,
            "task": task,
            "seed": seed,
            "value": rate + at + 0.3 * np.sin(7 * rate + place + 5 * seed),
        }
        for place, arm in enumerate("ab")
        for at, task in enumerate(("one", "two"))
        for rate in range(12)
        for seed in (range(8) if rate == 11 else (0,))
    ]
    store, named = (
        f"sqlite:///{tmp_path / 'runs.db'}",
        {"arm": "arm", "metric": "value", "task": "task", "seed": "seed"},
    )
    analysis = from_dataframe(pd.DataFrame(rows), study="runs", store=store, **named).analysis  # type: ignore[arg-type]
    planned, name = analysis.study.planned, f"score_{analysis.epoch}"
    means = pd.DataFrame(rows).groupby(["task", "arm", "rate"])["value"].mean()
    found = task_units(planned, planned[name])
    assert found["scale"].tolist() == pytest.approx(means.groupby("task").std(ddof=1).tolist(), rel=1e-12)
    assert found["centre"].tolist() == pytest.approx(means.groupby("task").mean().tolist(), rel=1e-12)


def test_the_table_of_tasks_has_the_means_that_are_tested(several: Analysis) -> None:
    section = next(each for each in tasks.sections(several) if each.name == "task-scores")
    assert section.numbers is not None
    assert section.numbers.columns[2:4] == ("Mean of the first named", "Mean of the second")
    means = several.trials.groupby(["task", "arm"])["score"].mean()
    for arms, task, first, second, *_ in section.numbers.rows:
        if task in TASKS:
            named = arms.split(" minus ")
            assert [float(first), float(second)] == pytest.approx([means[task, arm] for arm in named], abs=6e-5)


def test_the_profile_says_what_its_area_is_and_that_it_pools_tasks(several: Analysis) -> None:
    (section,) = profiles.sections(several)
    low, high = several.study.score_range
    area = several.results["profiles"]["arms"][ARMS[0]]["area"]
    mean = several.trials.loc[several.trials["arm"] == ARMS[0], "score"].mean()
    assert area == pytest.approx((mean - low) / (high - low), abs=1e-9)
    assert section.reading.startswith("The area under the profile is the mean value, rescaled so that ")
    assert f"{number(float(f'{low:.3g}'))} becomes 0 and {number(float(f'{high:.3g}'))} becomes 1: " in section.reading
    assert any(note.startswith("Profiles pool the scores of all tasks") for note in section.notes)
