"""The page as a file: what it says, that it is safe to open and always the same."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from support.stores import AWKWARD, HOSTILE, Made, fill, made_study, typical

from report.analysis import analyse, as_json_text
from report.exports import results_csv
from report.page import write_report
from report.sections.verdict import verdict
from report.words import typeset
from robustness.store import Store, open_store
from robustness.trial import Trial

pytestmark = pytest.mark.xdist_group("report_pages")


class Page(HTMLParser):
    """A page's elements, its visible text, and its data link, as a standards-minded reader sees them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.inside: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self.inside or self.inside[-1] not in {"script", "style"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


@pytest.fixture
def hostile_page(awkward: Callable[[str], Any]) -> str:
    return str(awkward("hostile names").page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, list[str]]:
    """The page of 12 pairs, the CSV of the same store, the verdict's sentences."""
    folder = tmp_path_factory.mktemp("twelve")
    with open_store(f"sqlite:///{folder / 'store.db'}") as opened:
        study = fill(opened, made_study())
        page = write_report(study, folder / "page.html").read_text(encoding="utf-8")
        again = write_report(study, folder / "again.html").read_text(encoding="utf-8")
        assert page == again, "the same store gives the same bytes"
        analysis = analyse(study)
        return (
            page,
            results_csv(study),
            verdict(analysis.frames, analysis.results["arms"], analysis.results["paired"]),
        )


@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_study_gives_a_page_with_a_verdict(awkward: Callable[[str], Any], name: str) -> None:
    page = Page(awkward(name).page.read_text(encoding="utf-8"))
    assert "Verdict" in page.text
    assert "How it was made" in page.text
    assert "Traceback" not in page.text
    said = page.text.split("How it was made")[1]
    assert not re.search(r"\b(nan|NaN|None|inf)\b", said)


def test_the_verdict_comes_first_then_warnings_then_pictures_then_the_table(twelve: tuple[str, str, list[str]]) -> None:
    page, _, sentences = twelve
    text = Page(page).text
    main = text[text.index("No significant difference between radial and mfvi") :]
    first, _, _ = main.partition("Contents")
    assert "Caveats" in first
    assert "Learned nothing" in first
    rest = Page(page[page.index('<section id="full-verdict"') :]).text
    order = [
        *(" ".join(typeset(each).split()) for each in sentences),
        "Outcomes",
        "Pair by pair",
        "All configurations",
        "How it was made",
    ]
    places = [rest.index(part) for part in order]
    assert places == sorted(places)


def test_the_page_asks_no_other_host_for_anything(twelve: tuple[str, str, list[str]]) -> None:
    page = Page(twelve[0])
    addresses = [
        value
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in {"src", "href", "action", "data", "poster", "srcset", "xlink:href"} and value
    ]
    assert all(address.startswith(("#", "data:text/csv")) for address in addresses)
    assert "http-equiv" in twelve[0]
    assert not re.search(r"url\((?!#)|@import|eval\(|new Function|innerHTML", twelve[0])


def test_the_policy_allows_just_the_script_and_the_style_of_the_page(twelve: tuple[str, str, list[str]]) -> None:
    page = twelve[0]
    policy = next(a["content"] for t, a in Page(page).elements if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    for tag in ("style", "script"):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert len(content) == 1
        fingerprint = base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{fingerprint}'" in policy
    assert not any("style" in attributes for _, attributes in Page(page).elements)


def test_the_csv_in_the_page_is_the_csv_of_the_study(twelve: tuple[str, str, list[str]]) -> None:
    page, expected, _ = twelve
    link = next(attributes["href"] for _, attributes in Page(page).elements if attributes.get("id") == "csv")
    assert link is not None
    content = unquote(link.partition(",")[2])
    assert content == expected
    assert len(list(csv.DictReader(io.StringIO(content)))) == 24


def test_ids_are_unique_and_every_reference_has_its_target(twelve: tuple[str, str, list[str]]) -> None:
    elements = Page(twelve[0]).elements
    ids = [attributes["id"] for _, attributes in elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    for _, attributes in elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set((attributes.get(name) or "").split()) <= set(ids)
        href = attributes.get("href") or ""
        assert not href.startswith("#") or href[1:] in ids


def test_every_picture_has_a_title_a_description_and_numbers_beside_it(twelve: tuple[str, str, list[str]]) -> None:
    elements = Page(twelve[0]).elements
    tags = [tag for tag, _ in elements]
    pictures = [attributes for tag, attributes in elements if tag == "svg" and attributes.get("role") == "img"]
    assert len(pictures) > 8
    assert all(attributes.get("aria-labelledby") for attributes in pictures)
    assert tags.count("desc") == len(pictures)
    assert tags.count("figure") == len(pictures) + 1, "and that of the first screen, whose lines are texts"


def test_names_and_errors_that_are_markup_show_as_text(hostile_page: str) -> None:
    page = Page(hostile_page)
    assert sum(tag == "script" for tag, _ in page.elements) == 2
    assert not any(tag in {"img", "b"} for tag, _ in page.elements)
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    for text in HOSTILE:
        assert text in page.text


def test_the_store_s_place_never_appears(hostile_page: str) -> None:
    assert "secret-folder" not in hostile_page
    assert "sqlite:" not in hostile_page


def test_a_running_study_says_that_it_is_incomplete(awkward: Callable[[str], Any]) -> None:
    text = Page(awkward("every ending").page.read_text(encoding="utf-8")).text
    assert "The study is incomplete: 2 of 24 trials have not ended (1 of them are running)" in text
    assert "out of memory" in text
    assert "ValueError: <b>no</b>" in text


def test_a_report_can_be_written_while_a_sweep_writes(store: Store, tmp_path: Path) -> None:
    from robustness.sweep.plan import make_plan

    study = made_study(configurations=4)
    plan = make_plan(study)
    registered = store.register(study, plan)
    with registered.lock(), registered.writer(flush_every=0) as writer:
        for number, trial in enumerate(plan.trials):
            made = typical(trial, 11)
            writer.started(trial.key, 1, "worker", "cpu")
            writer.ended(trial.key, "finished", made.scores[-1], 11, None, 1.0)
            writer.flush()
            if number == 3:
                text = Page(write_report(registered, tmp_path / "page.html").read_text(encoding="utf-8")).text
                assert "4 of 8 trials have not ended" in text
    assert set(registered.states().values()) == {"finished"}


def test_warnings_name_what_weakens_the_verdict(store: Store, tmp_path: Path) -> None:
    def make(trial: Trial, epochs: int) -> Made:
        if trial.arm == "mfvi" and trial.configuration < 3:
            return Made("diverged", [0.9] * 4)
        return Made("timed_out", [0.7]) if trial.configuration == 5 else typical(trial, epochs)

    text = Page(write_report(fill(store, made_study(), make), tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert "Only 11 paired configurations" in text
    assert "2 of 24 ended trials are left out of the fractions, with their pairs: 2 timed out." in text
    assert "Some trials were good and then diverged: 3 of mfvi" in text


def test_numbers_have_a_minus_sign_on_the_page_and_a_hyphen_in_the_json(awkward: Callable[[str], Any]) -> None:
    written = awkward("three arms")
    page = written.page.read_text(encoding="utf-8").partition("<main")[2].partition('<section id="configurations"')[0]
    page = re.sub(r'(?s)<section id="explore".*?</section>', "", page)
    shown = re.findall(r">([^<>]+)<", page)
    assert [words for words in shown if re.search(r"(?<![\w.\-−])-\.?\d", words)] == []
    lines = re.findall(r">([^<>]+)<", re.sub(r"(?s)<svg.*?</svg>", "", page))
    assert [words for words in lines if " %" in words] == []
    assert any("−" in words for words in shown)
    assert any("95\u00a0% interval" in words for words in shown)
    text = as_json_text(written.analysis.results)
    assert "−" not in text
    assert "\u00a0%" not in text


def test_exponents_names_and_ranges_keep_their_hyphens() -> None:
    assert typeset("-4, [-0.5 to +1], 1e-5, vgg-11, 39-86 %, 2026-11-18") == (
        "−4, [−0.5 to +1], 1e-5, vgg-11, 39-86\u00a0%, 2026-11-18"
    )
    assert typeset(typeset("(-.5)")) == "(−.5)"
