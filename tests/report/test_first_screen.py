"""The first screen: one sentence, a line for each comparison, the arms and the warnings, for every kind of study."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.kinds import FIVE, KINDS
from support.stores import HOSTILE, fill, made_study, renamed_arms

from report.analysis import Analysis, analyse
from report.drawing.style import ARM_COLOURS, INK, VERDICT_COLOURS, drawing
from report.first_screen.lines import comparisons_of
from report.first_screen.scale import LEAST_SIDE, MOST_TICKS, Scale
from report.first_screen.screen import NO_WARNINGS, SHOWN_WARNINGS, first_screen, verdict_picture
from report.page import notebook_html, render
from report.sections import SECTIONS, sections_by_part
from report.sections.cautions import cautions
from report.sections.topic import Group, Part, Topic
from report.words import p_number
from robustness.store import open_store

pytestmark = pytest.mark.xdist_group("report_pages")
TEMPLATES = Path(__file__).parents[2] / "report" / "templates"


class Lines(HTMLParser):
    """The lines of the figure: their texts by class, and the attributes of what is drawn in them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[dict[str, Any]] = []
        self.inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name = attributes.get("class") or ""
        if tag == "li" and name.startswith("line"):
            self.lines.append({"classes": name.split(), "text": ""})
        elif self.lines and name in {"interval", "zero", "estimate", "margin"} and name not in self.lines[-1]:
            self.lines[-1][name] = attributes
        self.inside.append("line" if tag == "li" and name.startswith("line") else tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() not in {tag, *({"line"} if tag == "li" else ())}:
            pass

    def handle_data(self, data: str) -> None:
        if "line" in self.inside:
            self.lines[-1]["text"] = " ".join(f"{self.lines[-1]['text']} {data}".split())


@pytest.fixture(scope="module")
def study_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Analysis]:
    """From the name of a kind to the analysis of a study of it."""
    return cache(lambda kind: KINDS[kind](tmp_path_factory.mktemp("kind")))


def expected(analysis: Analysis) -> Iterator[tuple[list[str], str | None, float, float | None, float | None]]:
    """Arms, task, difference and interval of every comparison as the JSON has them, second arm minus first."""
    results: Any = analysis.results
    if "finals" in results:
        entries = [(entry, None, entry["difference"]) for entry in results["finals"]["comparisons"]]
    else:
        key, name = ("paired", "difference") if analysis.frames.has_thresholds else ("scores", "mean_difference")
        entries = []
        for entry in results[key]:
            if entry["epoch"] != analysis.epoch or entry.get("outcome", analysis.primary) != analysis.primary:
                continue
            entries.append((entry, None, entry[name]))
            for task in (results["tasks"] or {"on": []})["on"]:
                own = next(each for each in task[key] if each["arms"] == entry["arms"])
                entries.append((own, task["task"], own[name]))
    for entry, task, difference in entries:
        low, high = entry["low"], entry["high"]
        yield entry["arms"][::-1], task, -difference, None if high is None else -high, None if low is None else -low


@pytest.mark.parametrize("kind", KINDS)
def test_the_lines_are_the_numbers_of_the_json(study_of: Callable[[str], Analysis], kind: str) -> None:
    analysis = study_of(kind)
    compared = comparisons_of(analysis)
    assert compared is not None
    found = [(list(line.arms), line.task, line.difference, line.low, line.high) for line in compared.lines]
    wanted = list(expected(analysis))
    assert len(found) == len(wanted) >= 1
    for one, other in zip(found, wanted, strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:])


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_draws_each_line_where_its_numbers_are(study_of: Callable[[str], Analysis], kind: str) -> None:
    analysis = study_of(kind)
    compared = comparisons_of(analysis)
    assert compared is not None
    drawn = Lines(render(analysis)).lines
    assert len(drawn) == len(compared.lines)
    places, values = [], []
    for shown, line in zip(drawn, compared.lines, strict=True):
        at = line.on_axis()
        estimate = shown["estimate"].get("cx")
        if estimate is not None:
            places.append(float(estimate.rstrip("%")))
            values.append(at[0])
        if line.ends:
            assert line.ends in shown["text"]
            places += [float(shown["interval"][end].rstrip("%")) for end in ("x1", "x2")]
            values += at[1:]
        places.append(float(shown["zero"]["x1"].rstrip("%")))
        values.append(0.0)
        assert line.number in shown["text"]
        assert line.verdict in shown["classes"]
        assert line.verdict in shown["text"]
        if line.better is not None:
            assert f"{line.better} {compared.better}" in shown["text"]
        assert all(0 <= place <= 100 for place in places)
    # All places lie on one straight line over the values: the axis is one for all of them.
    low, high = min(values), max(values)
    left, right = places[values.index(low)], places[values.index(high)]
    for place, value in zip(places, values, strict=True):
        assert place == pytest.approx(left + (right - left) * (value - low) / (high - low), abs=0.01)


def test_a_significant_difference_names_the_better_arm_its_number_and_interval(
    study_of: Callable[[str], Analysis],
) -> None:
    analysis = study_of("two arms")
    entry = next(e for e in analysis.results["paired"] if (e["epoch"], e["outcome"]) == ("best", "learned_nothing"))
    assert first_screen(analysis).sentence == (
        "radial is less sensitive to its hyperparameters than mfvi: 30 % of 40 configurations learned nothing with "
        "radial, 58 % with mfvi, a difference of 28 points (95 % interval 16 to 43; score test, p = "
        f"{p_number(entry['p_adjusted'])})."
    )
    assert [round(100 * (entry[key] or 0)) for key in ("difference", "low", "high")] == [28, 16, 43]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("five arms", "radial is less sensitive than"),
        ("five arms against one", "radial is less sensitive than"),
        ("good is primary", "of 40 configurations were good with"),
        ("no thresholds", "fast is better than slow: a difference of"),
        ("a loss", "slow is better than fast: a difference of"),
        ("two tasks", "standard deviations in the mean value"),
        ("two tasks with thresholds", "fast is less sensitive to its hyperparameters than slow"),
        ("unpaired", "fast is better than slow"),
        ("unpaired with thresholds", "of 36 configurations with slow"),
        ("stopped", "95 % confidence sequence"),
        ("final models", "test AUC"),
    ],
)
def test_the_sentence_fits_the_kind_of_study(study_of: Callable[[str], Analysis], kind: str, words: str) -> None:
    said = first_screen(study_of(kind)).sentence
    assert words in said
    assert said.endswith(".")
    assert not re.search(r"\b(nan|None|inf)\b", said)


def test_five_arms_against_one_have_a_line_each(study_of: Callable[[str], Analysis]) -> None:
    compared = comparisons_of(study_of("five arms against one"))
    assert compared is not None
    assert [line.arms for line in compared.lines] == [(arm, "radial") for arm in FIVE if arm != "radial"]


def test_a_margin_is_a_band_about_zero(study_of: Callable[[str], Analysis]) -> None:
    analysis = study_of("margin")
    (line,) = Lines(render(analysis)).lines
    zero = float(line["zero"]["x1"].rstrip("%"))
    start, width = (float(line["margin"][key].rstrip("%")) for key in ("x", "width"))
    assert start + width / 2 == pytest.approx(zero, abs=0.01)
    compared = comparisons_of(analysis)
    assert compared is not None
    estimate = float(line["estimate"]["cx"].rstrip("%"))
    assert width / 2 / (zero - estimate) == pytest.approx(0.06 / -compared.lines[0].difference, rel=0.01)
    assert "±6 points" in render(analysis)


def test_arms_within_the_margin_are_equivalent(tmp_path: Path) -> None:
    study = made_study("same", configurations=60, outcomes={"equivalent_within": 0.1})
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        from support.stores import always

        analysis = analyse(fill(store, study, always(0.7)))
    compared = comparisons_of(analysis)
    assert compared is not None
    assert [line.verdict for line in compared.lines] == ["equivalent"]
    assert first_screen(analysis).sentence.startswith("radial and mfvi are equivalent within 10 points: 0 % of 60 ")
    assert compared.lines[0].better is None


def test_without_arms_to_compare_the_sentence_says_why(awkward: Callable[[str], Any]) -> None:
    said = {name: first_screen(awkward(name).analysis).sentence for name in ("empty study", "all failed", "one arm")}
    assert said["empty study"] == "No trial has a result yet."
    assert said["all failed"] == "No trial has a result yet."
    assert re.match(r"radial learned nothing in \d+ of 12 \(.*\)\. There is no other arm to compare", said["one arm"])
    assert all(first_screen(awkward(name).analysis).comparisons is None for name in said)


def test_the_weightiest_warnings_are_shown_and_the_others_folded(awkward: Callable[[str], Any]) -> None:
    analysis = awkward("every ending").analysis
    screen = first_screen(analysis)
    assert len(screen.warnings) == SHOWN_WARNINGS
    assert [*screen.warnings, *screen.folded] == cautions(analysis)
    assert screen.warnings[0].startswith("The study is incomplete")


def test_no_warnings_are_said_plainly(study_of: Callable[[str], Analysis]) -> None:
    analysis = study_of("no thresholds")
    assert cautions(analysis) == []
    assert NO_WARNINGS in render(analysis)


def test_markup_in_names_stays_text_on_the_first_screen_and_in_a_notebook(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        study = renamed_arms(made_study(HOSTILE[0], arms=("mfvi", "radial", "deterministic")), *HOSTILE, "a<b>&c")
        analysis = analyse(fill(store, study))
    for page in (render(analysis).split("</header>")[1].split("<nav")[0], notebook_html(analysis)):
        assert not re.search(r"<(script|img|b>&)", page)
        assert "&lt;script&gt;" in page
        assert any("<script>alert(1)</script>" in line["text"] for line in Lines(page).lines)


def test_the_theme_has_the_colours_of_the_figures() -> None:
    theme = (TEMPLATES / "theme.css").read_text(encoding="utf-8")
    light = theme.split("@media")[0].lower()
    for place, colour in enumerate(ARM_COLOURS):
        assert f"--arm{place}: {colour.lower()};" in light
    for verdict, colour in VERDICT_COLOURS.items():
        assert f"--{verdict}: {colour.lower()};" in light
    assert f"--ink: {INK.lower()};" in light


def test_every_variable_of_the_style_is_declared_in_the_theme() -> None:
    styles = [path.read_text(encoding="utf-8") for path in TEMPLATES.glob("*.css")]
    used = {name for style in styles for name in re.findall(r"var\((--[\w-]+)", style)}
    declared = {name for style in styles for name in re.findall(r"(--[\w-]+):", style)}
    scripts = [path.read_text(encoding="utf-8") for path in (TEMPLATES / "scripts").glob("*.js")]
    set_by_scripts = {name for script in scripts for name in re.findall(r'setProperty\("(--[\w-]+)"', script)}
    assert used <= declared | set_by_scripts


def test_a_notebook_shows_the_first_screen_with_a_style_that_applies_to_it_alone(
    study_of: Callable[[str], Analysis],
) -> None:
    analysis = study_of("five arms")
    shown = notebook_html(analysis)
    assert [line["text"] for line in Lines(shown).lines] == [line["text"] for line in Lines(render(analysis)).lines]
    assert not re.search(r"<script|\bid=|https?:|@import|url\(", shown)
    style = re.sub(r"/\*.*?\*/", "", shown.split("<style>")[1].split("</style>")[0])
    flat = re.sub(r"@container [^{]*\{((?:[^{}]*\{[^{}]*\})*)\s*\}", r"\1", style)
    selectors = [each.strip() for rule in re.findall(r"([^{}]+)\{", flat) for each in re.split(r",(?![^(]*\))", rule)]
    assert selectors
    assert all(".robustness" in selector or selector.startswith(".answer") for selector in selectors), selectors
    assert '[data-jp-theme-light="false"] .robustness' in style
    assert ".vscode-dark .robustness" in style


def test_the_figure_for_papers_has_a_point_and_a_line_for_each_comparison(study_of: Callable[[str], Analysis]) -> None:
    analysis = study_of("five arms against one")
    picture, compared = verdict_picture(analysis), comparisons_of(analysis)
    assert picture is not None
    assert compared is not None
    with drawing():
        axes = picture.draw().axes[0]
    drawn = [(line, np.asarray(line.get_xdata(), dtype=float)) for line in axes.lines]
    points = [float(x[0]) for line, x in drawn if line.get_marker() in {"o", "s"}]
    assert points == pytest.approx([100 * line.difference for line in compared.lines])
    ends = [tuple(x.tolist()) for line, x in drawn if len(x) == 2 and line.get_linewidth() > 2]
    assert ends == [pytest.approx((100 * (line.low or 0), 100 * (line.high or 0))) for line in compared.lines]


@pytest.mark.parametrize("kind", ["two arms", "five arms", "five arms against one"])
def test_each_direction_is_written_on_its_own_side_of_zero(study_of: Callable[[str], Analysis], kind: str) -> None:
    analysis = study_of(kind)
    (row,) = re.findall(r'<li class="sides line".*?</li>', render(analysis), re.DOTALL)
    zeros = re.findall(r'class="zero" x1="([\d.]+)%"', render(analysis))
    found = re.findall(r'<text x="([\d.]+)%" dx="(-?8)"[^>]*?( text-anchor="end")?>([^<]+)</text>', row)
    assert {place for place, *_ in found} == set(zeros)
    assert [(shift, bool(anchor)) for _, shift, anchor, _ in found] == [("-8", True)] * 2 + [("8", False)] * 2
    assert (found[0][3][0], found[2][3][-1]) == ("←", "→")
    if kind == "two arms":
        assert [words for *_, words in found] == ["← radial", "less sensitive", "mfvi →", "less sensitive"]


@pytest.mark.parametrize("values", [[0.0], [-0.45, -0.56, -0.35], [1e35, -2e34], [1e-9], [0.02, -0.3, 0.7]])
def test_the_scale_shows_every_value_and_few_round_ticks(values: list[float]) -> None:
    scale = Scale.over(values)
    assert all(0 <= scale.place(value) <= 100 for value in [0.0, *values])
    assert 0.0 in scale.ticks
    # Each side of zero has room for its label.
    assert LEAST_SIDE <= scale.place(0.0) / 100 <= 1 - LEAST_SIDE
    assert 2 <= len(scale.ticks) <= MOST_TICKS + 1
    assert all(0 <= scale.place(tick) <= 100 for tick in scale.ticks)


def test_every_section_stands_in_a_part_and_those_of_installed_packages_in_the_details() -> None:
    assert Topic(Group.RUNS, lambda _: iter(())).part is Part.DETAILS
    assert {topic.part for topic in SECTIONS} == {Part.HOW_SURE, Part.WHY, Part.COST}


def test_the_page_has_its_parts_in_order_each_with_its_sections(study_of: Callable[[str], Analysis]) -> None:
    analysis = study_of("two arms")
    page = render(analysis)
    parts = re.findall(r'<details class="part" id="([\w-]+)"( open)?>', page)
    assert parts == [("part-how-sure", " open"), ("part-why", ""), ("part-cost", ""), ("part-details", "")]
    bodies = re.split(r'<details class="part"', page)[1:]
    for body, (_, sections) in zip(bodies, sections_by_part(analysis).items(), strict=True):
        assert [section.name for section in sections if f'<section id="{section.name}"' not in body] == []
    assert '<section id="configurations"' in bodies[-1]
    assert '<section id="making"' in bodies[-1]


def test_runs_of_one_epoch_have_one_row_for_each_arm(study_of: Callable[[str], Analysis]) -> None:
    analysis = study_of("unpaired with thresholds")
    assert analysis.study.single_epoch
    assert not study_of("two arms").study.single_epoch
    outcomes = next(s for sections in sections_by_part(analysis).values() for s in sections if s.name == "outcomes")
    assert outcomes.numbers is not None
    assert [row[0] for row in outcomes.numbers.rows] == ["slow", "fast"]
    assert len(outcomes.pictures) == 1
    assert "epoch" not in first_screen(analysis).arms_caption
