"""The figures: what they draw, their SVG, and that nothing in them depends on the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from support.stores import AWKWARD, HOSTILE, Made, fill, from_table, made_study, paper_like

from report.analysis import Analysis, analyse
from report.document import Picture
from report.drawing.axes import spread
from report.drawing.style import ARM_COLOURS, Arms, drawing, panel
from report.drawing.svg import FONTS, INK, to_svg
from report.drawing.widths import Width, fit_to
from report.page import write_figures
from report.sections import curves, dynamics, make_sections, outcomes, paired_tests, pairs
from report.sections.curves import MOST_CURVES
from report.sections.dynamics import choose_pair
from report.words import text
from robustness.store import Store, open_store
from robustness.trial import Trial

pytestmark = pytest.mark.xdist_group("report_pages")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Two arms, 12 pairs."""
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('twelve') / 'store.db'}") as opened:
        return analyse(fill(opened, made_study()))


def pictures(analysis: Analysis) -> list[Picture]:
    return [picture for section in make_sections(analysis) for picture in section.pictures]


def marks(axes: Axes) -> int:
    """How many points, lines, bars and cells with finite places the axes have."""
    lines = sum(int(np.isfinite(np.asarray(line.get_xydata(), dtype=float)).all(axis=1).sum()) for line in axes.lines)
    collections = sum(len(collection.get_paths()) for collection in axes.collections)
    bars = sum(np.asarray(patch.get_path().vertices).size > 0 for patch in axes.patches)
    return lines + collections + bars


@pytest.mark.parametrize("name", AWKWARD)
def test_no_picture_of_an_awkward_study_is_empty(awkward: Callable[[str], Any], name: str) -> None:
    with drawing():
        for picture in pictures(awkward(name).analysis):
            figure = picture.draw()
            assert figure.axes, picture.name
            assert all(marks(axes) > 0 for axes in figure.axes), picture.name


def test_every_section_says_something_and_names_are_unique(twelve: Analysis) -> None:
    sections = list(make_sections(twelve))
    assert all(section.reading.endswith(".") and "nan" not in section.reading.lower().split() for section in sections)
    assert all(section.numbers is None or section.numbers.rows for section in sections)
    names = [picture.name for picture in pictures(twelve)]
    assert len(names) == len(set(names))
    assert all(picture.title and picture.description for picture in pictures(twelve))


def test_a_figure_in_a_page_has_no_style_and_is_announced_by_title_and_description() -> None:
    with drawing():
        figure, axes = panel()
        axes.plot([0, 1], [0, 1], color=INK)
        axes.set_title("a & b < c")
        written = to_svg(figure, "some-name", "The <title>", "What is drawn & why")
    assert "style" not in written
    root = ElementTree.fromstring(written)  # noqa: S314
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "some-name-title some-name-desc"
    assert [(root[place].get("id"), root[place].text) for place in (0, 1)] == [
        ("some-name-title", "The <title>"),
        ("some-name-desc", "What is drawn & why"),
    ]
    assert "currentColor" in written
    assert INK not in written


def test_a_figure_has_the_fonts_of_its_page_and_as_a_file_its_own_on_white() -> None:
    written = {}
    with drawing():
        for in_page in (True, False):
            figure, axes = panel()
            axes.set_title("said")
            written[in_page] = to_svg(figure, "some-name", "t", "d", in_page=in_page)
    assert "font-family" not in written[True]
    assert "#ffffff" not in written[True]
    root = ElementTree.fromstring(written[False])  # noqa: S314
    texts = [element for element in root.iter() if element.tag.endswith("}text")]
    assert texts
    assert {element.get("font-family") for element in texts} == {FONTS}
    drawn = [element.get("fill") for element in root.iter() if element.tag.endswith("}path")]
    assert drawn[0] == "#ffffff"


def test_every_id_is_the_figure_s_own_and_every_reference_has_a_target() -> None:
    written = []
    with drawing():
        for name in ("first", "second"):
            figure, axes = panel()
            axes.plot([0, 1, 2], [2, 1, 0], "o-")
            written.append(to_svg(figure, name, "t", "d"))
    for name, svg in zip(("first", "second"), written, strict=True):
        ids = re.findall(r'\bid="([^"]+)"', svg)
        assert len(ids) == len(set(ids))
        assert all(each.startswith(f"{name}-") for each in ids)
        assert set(re.findall(r"url\(#([^)]+)\)", svg) + re.findall(r'href="#([^"]+)"', svg)) <= set(ids)


def test_the_same_figure_gives_the_same_bytes(twelve: Analysis) -> None:
    (section,) = pairs.sections(twelve)
    with drawing():
        first, second = (to_svg(section.pictures[0].draw(), "pairs", "t", "d") for _ in range(2))
    assert first == second


def test_an_arm_keeps_its_colour_and_eight_arms_have_eight() -> None:
    arms = Arms(tuple(f"arm {number}" for number in range(9)))
    assert {arms.colour(name) for name in arms.names[:8]} == set(ARM_COLOURS)
    assert len(set(ARM_COLOURS)) == 8
    assert arms.colour(arms.names[8]) == arms.colour(arms.names[0])
    assert arms.dash(arms.names[8]) != arms.dash(arms.names[0])


def test_the_bars_are_as_high_as_the_fractions(twelve: Analysis) -> None:
    (section,) = outcomes.sections(twelve)
    with drawing():
        figure = next(picture for picture in section.pictures if picture.name == "outcomes-best").draw()
    bars = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    assert len(bars) == len(figure.axes[0].patches)
    heights = {round(bar.get_height(), 6) for bar in bars if bar.get_height() > 0}
    paired = twelve.study.trials.loc[twelve.study.trials["paired"]]
    shares = {
        round(100 * float((own["outcome_best"] == outcome).mean()), 6)
        for _, own in paired.groupby("arm")
        for outcome in ("learned_nothing", "good")
    }
    assert heights == shares - {0.0}
    assert figure.axes[0].get_xlabel() == ""


def test_the_figures_of_the_reference_are_diamonds_and_the_picture_says_whose(store: Store) -> None:
    analysis = analyse(paper_like(store, configurations=20, epochs=6))
    (section,) = outcomes.sections(analysis)
    with drawing():
        axes = section.pictures[0].draw().axes[0]
    assert axes.get_xlabel() == f"◇ {analysis.reference_label}"
    diamonds = [np.asarray(line.get_ydata())[0] for line in axes.lines if line.get_marker() == "D"]
    assert sorted(diamonds) == [11, 39, 44, 82]


def test_the_chosen_pair_is_the_one_whose_arms_are_furthest_apart(twelve: Analysis) -> None:
    scores = twelve.pairs.pivot_table(index="configuration", columns="arm", values="score")
    furthest = (scores["mfvi"] - scores["radial"]).abs().idxmax()
    assert choose_pair(twelve) == (furthest, 0)
    (section,) = dynamics.sections(twelve)
    line = next(note for note in section.notes if note.startswith(f"Solid lines are configuration {furthest} ("))
    assert "), the pair whose arms differ most in validation AUC at the best epoch" in line


def test_a_single_comparison_is_not_corrected(twelve: Analysis) -> None:
    (section,) = paired_tests.sections(twelve)
    assert section.numbers is not None
    assert "Holm" not in " ".join([section.reading, *section.notes, *section.numbers.columns])
    assert len(section.numbers.rows[0]) == len(section.numbers.columns)


def test_areas_have_intervals_within_their_range(store: Store) -> None:
    """One of 14 scores 0.9 and the others 0.5: the interval of the area would begin below 0."""
    table = {(place, arm): 0.9 if place == 0 else 0.5 for place in range(14) for arm in ("mfvi", "radial")}
    analysis = analyse(fill(store, made_study(configurations=14), from_table(table)))
    for entry in analysis.results["profiles"]["arms"].values():
        assert (entry["area_low"], round(entry["area"], 4)) == (0.0, round(0.8 / 14, 4))
        assert entry["area_high"] is not None
        assert entry["area_high"] < 1


def test_many_trials_are_thinned_and_the_report_says_so(store: Store) -> None:
    analysis = analyse(fill(store, made_study(configurations=MOST_CURVES + 50, epochs=4)))
    (section,) = curves.sections(analysis)
    assert any(str(MOST_CURVES) in note for note in section.notes)
    with drawing():
        figure = section.pictures[0].draw()
    assert sum(len(collection.get_paths()) for collection in figure.axes[0].collections) == MOST_CURVES


def test_names_are_cut_and_cleaned_for_pictures() -> None:
    assert text("a\x00b\ud800c\n d") == "a\\x00b\\ud800c d"
    assert text("x" * 50, 10) == "x" * 9 + "…"


def test_labels_are_moved_apart_and_stay_inside() -> None:
    moved = spread([0.5, 0.5, 0.52, 0.99], 0.1, 0.0, 1.0)
    ordered = sorted(moved)
    assert all(second - first > 0.099 for first, second in pairwise(ordered))
    assert min(moved) >= 0.0
    assert max(moved) <= 1.001
    assert spread([], 0.1, 0, 1) == []


def test_figures_for_a_paper_are_svg_and_pdf_and_the_same_each_time(store: Store, tmp_path: Path) -> None:
    study = AWKWARD["all failed"](store)
    first, second = (write_figures(study, tmp_path / name) for name in ("first", "second"))
    assert {path.suffix for path in first} == {".svg", ".pdf"}
    assert len({path.stem for path in first}) == len(first) / 2
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name
    for path in first:
        if path.suffix == ".pdf":
            assert path.read_bytes().startswith(b"%PDF")
        else:
            assert ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314


def test_markup_and_dollars_in_names_are_drawn_as_they_are(store: Store) -> None:
    from support.stores import renamed_arms

    analysis = analyse(fill(store, renamed_arms(made_study(), "$x_", HOSTILE[0])))
    with drawing():
        written = [
            to_svg(picture.draw(), picture.name, picture.title, picture.description) for picture in pictures(analysis)
        ]
    assert any("$x_" in svg for svg in written)
    assert not any("<script" in svg for svg in written)


def test_the_paired_tests_are_tabled_with_their_counts_and_both_p_values(store: Store) -> None:
    def make(trial: Trial, epochs: int) -> Made:
        """Of 12 configurations mfvi learns nothing in 9, deterministic in 8 of the same, radial in none."""
        lost = trial.configuration < {"mfvi": 9, "deterministic": 8, "radial": 0}[trial.method]
        return Made(scores=[0.5 if lost else 0.7] * epochs)

    analysis = analyse(fill(store, made_study(arms=("mfvi", "radial", "deterministic")), make))
    (section,) = paired_tests.sections(analysis)
    assert section.numbers is not None
    rows = {row[:2]: row[2:] for row in section.numbers.rows}
    assert len(rows) == 6
    counts, told = rows["radial minus mfvi", "learned nothing"][:4], rows["radial minus mfvi", "learned nothing"][4:]
    assert counts == ("0", "9", "0", "3")
    assert told[0].startswith("-75 [-")
    # z = 9 / sqrt(9) = 3, and by Holm three times that p; mfvi against deterministic has one discordant pair: z = 1.
    assert told[1:] == ("0.0027", "0.0081")
    assert rows["deterministic minus mfvi", "learned nothing"][5:] == ("0.32", "0.32")
    assert section.reading == (
        "Of 6 comparisons at the best epoch, 2 are significant at the 5 % level on their own and 2 after Holm's "
        "correction."
    )
    assert "Holm's correction is over the 3 comparisons of one outcome at one epoch." in section.notes
    # A sweep that was ended on its evidence has tests that allow for it.
    store.study("made").save_note("stopped", {"pairs": 12})
    (section,) = paired_tests.sections(analyse(store.study("made")))
    assert "anytime-valid betting test" in section.notes[0]


def test_no_tick_shows_the_markup_of_a_power(tmp_path: Path, twelve: Analysis) -> None:
    for path in write_figures(twelve, tmp_path):
        if path.suffix == ".svg":
            assert "mathdefault" not in path.read_text(), path.name


@pytest.mark.parametrize(("width", "inches"), [("column", 3.3), ("page", 6.9)])
def test_figures_for_a_paper_have_its_width_and_type_of_seven_points(
    tmp_path: Path, twelve: Analysis, width: Width, inches: float
) -> None:
    for path in write_figures(twelve, tmp_path, width=width):
        if path.suffix == ".svg":
            svg = path.read_text()
            assert f'width="{72 * inches:g}pt"' in svg, path.name
            sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)', svg)]
            assert min(sizes) >= 7, path.name
            assert max(sizes) <= 11, path.name


def test_a_legend_that_does_not_fit_gets_fewer_columns() -> None:
    with drawing():
        figure, axes = panel()
        for name in ("a long name of an arm", "another long name of one", "and a third, long one"):
            axes.plot([0, 1], [0, 1], label=name)
        figure.legend(loc="upper left", ncols=3)
        fit_to(figure, "column")
        figure.canvas.draw()
        assert figure.legends[0].get_window_extent().width <= figure.bbox.width
        assert len(figure.legends[0].get_texts()) == 3
