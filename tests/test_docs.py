"""The pages: their links and anchors lead somewhere, and what they list keeps up with the code it describes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.pages import blocks

from robustness.errors import StudyFileError
from robustness.methods import METHODS, find_method
from robustness.statistics import sequential
from robustness.study.bundled import bundled_names
from robustness.study.yaml_reader import read_file, read_text
from robustness.tasks import TASKS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
STATISTICS = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")
BODY, REFERENCES = STATISTICS.split("\n## References\n")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files_and_headings_of_the_project(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    links += [link for link in re.findall(r'(?:src|href)="([^"]+)"', text) if ":" not in link]
    missing = []
    for link in links:
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            missing.append(link)
    assert not missing


def test_every_module_of_statistics_is_explained() -> None:
    modules = {path.name for path in (ROOT / "robustness" / "statistics").glob("*.py")} - {"__init__.py"}
    named = set(re.findall(r"`robustness/statistics/(\w+\.py)`", BODY))
    assert named == modules


def test_every_file_that_the_page_of_statistics_names_exists() -> None:
    paths = re.findall(r"`((?:robustness|report|tests|benchmarks)/[\w/]+(?:\.py|/))`", BODY)
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path).exists()] == []
    short = re.findall(r"`(test_\w+\.py)`", BODY)
    assert [name for name in short if not (ROOT / "tests" / "statistics" / name).is_file()] == []


def test_every_source_is_cited_and_every_citation_has_a_source() -> None:
    listed = re.findall(r"^- (?:von )?(\w+)(?:-\w+)?,? .*?\((\d{4})\)", REFERENCES, re.MULTILINE)
    cited = re.findall(r"[\[;]\s*(?:von )?(\w+)(?:-\w+)?(?:,?\s[^\[\];]*?)?\s(\d{4})(?=[\];])", BODY)
    assert len(listed) == REFERENCES.count("\n- ")
    assert set(cited) == set(listed)


def test_the_stakes_on_the_page_are_those_of_the_code() -> None:
    for values in (sequential.SHARES, sequential.WEIGHTS):
        assert ", ".join(f"{value:g}" for value in values) in re.sub(r"\s+", " ", BODY)


def table(page: str, head: str) -> str:
    """A table of a page, from its head to the next empty line."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return text[text.index(head) :].split("\n\n")[0]


def test_every_bundled_study_is_in_the_table() -> None:
    named = set(re.findall(r"`([a-z_]+)`", table("studies/index.md", "| study | question |"))) - {"optimize"}
    small = {f"{name}_small" for name in named} if "_small" in named else set()
    assert set(bundled_names("studies")) <= named | small
    assert named - {"_small"} <= set(bundled_names("studies"))


def test_every_bundled_space_is_named() -> None:
    page = (ROOT / "docs" / "reference" / "search_spaces.md").read_text(encoding="utf-8")
    assert [name for name in bundled_names("search_spaces") if f"`{name}`" not in page] == []


def test_every_method_and_task_is_in_its_table() -> None:
    page = (ROOT / "docs" / "reference" / "methods.md").read_text(encoding="utf-8")
    methods = page[page.index("## Methods") : page.index("## Tasks")]
    tasks = page[page.index("## Tasks") : page.index("## Trainables")]
    names = re.findall(r"`([a-z_]+)`", methods)
    assert set(names) == set(METHODS)
    assert all(find_method(name) is not None for name in names)
    assert set(re.findall(r"^\| `([a-z_]+)`", tasks, re.MULTILINE)) == set(TASKS)


def test_the_study_file_is_the_bundled_one_without_its_comments() -> None:
    (shown,) = (
        block for block in blocks(ROOT / "docs" / "reference" / "study_files.md", "yaml") if "name: quickstart" in block
    )
    study = read_text(shown, "study_files.md", StudyFileError)
    bundled = read_file(ROOT / "studies" / "quickstart.yaml", StudyFileError)
    del bundled["description"], bundled["outcomes"]["primary"]
    assert study == bundled
