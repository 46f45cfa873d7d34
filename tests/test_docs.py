"""The pages: their links and anchors lead somewhere, and `docs/statistics.md` keeps up with the code it describes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from robustness.statistics import sequential

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
