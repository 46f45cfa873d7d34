"""The documentation as a site: it builds without a warning, and every link of what was built leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import report
import robustness
from robustness.cli import COMMANDS
from robustness.study.sections import StudyFile

ROOT = Path(__file__).parents[1]


class Page(HTMLParser):
    """The addresses and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {str(values[name]) for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        address = values.get("src") or (values.get("href") if tag == "link" else None)
        if address:
            self.loaded.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    # The kept report is a page of its own making, which tests of the report look at.
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name not in ("report.html", "404.html")}


def targets(site: Path, path: Path, links: list[str]) -> Iterator[tuple[str, Path, str]]:
    """Each local link with the file and the anchor it leads to."""
    for link in links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            relative = unquote(parts.path)
            target = (path.parent / relative).resolve() if relative else path
            yield link, target / "index.html" if target.is_dir() else target, unquote(parts.fragment)


def test_every_link_leads_to_a_page_and_an_anchor(site: Path, pages: dict[Path, Page]) -> None:
    assert len(pages) > 50
    missing = []
    for path, page in pages.items():
        for link, target, anchor in targets(site, path, page.links):
            known = pages.get(target)
            if not target.is_file() or (anchor and known is not None and anchor not in known.anchors):
                missing.append(f"{path.relative_to(site)}: {link}")
    assert not missing


def test_every_page_is_linked_from_another(site: Path, pages: dict[Path, Page]) -> None:
    linked = {
        target for path, page in pages.items() for _, target, _ in targets(site, path, page.links) if target != path
    }
    assert [str(path.relative_to(site)) for path in pages if path not in linked] == []


def test_the_text_of_some_page_links_to_each_page(pages: dict[Path, Page]) -> None:
    """Beside the navigation: a reader who follows links in sentences reaches everything."""
    sources = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    linked = set()
    for source in [ROOT / "README.md", *(ROOT / "docs" / each for each in sources)]:
        for link in re.findall(r"\]\(([^)\s]+\.md)[^)]*\)", source.read_text(encoding="utf-8")):
            target = (source.parent / link).resolve()
            if target != source and target.is_relative_to(ROOT / "docs"):
                linked.add(target.relative_to(ROOT / "docs"))
    assert sorted(map(str, sources - linked)) == []


def test_nothing_is_loaded_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    foreign = {address for page in pages.values() for address in page.loaded if urlsplit(address).netloc}
    assert foreign == set()
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?https?:|@import", sheet.read_text(encoding="utf-8")), sheet


def test_formulas_are_drawn_without_scripts(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert 'class="arithmatex"' not in text, path
        for formula in re.findall(r"<math.*?</math>", text, re.DOTALL):
            assert not re.search(r"\\[a-zA-Z]+", formula), f"{path.name}: {formula}"
    assert (site / "statistics.html").read_text(encoding="utf-8").count("<math") > 100


def test_code_in_a_numbered_list_is_code(site: Path) -> None:
    steps = (site / "clusters.html").read_text(encoding="utf-8")
    assert re.search(r"<pre>(?:<span></span>)?<code>RAY_AUTH_MODE=token ray start --head", steps)


def test_the_reference_has_every_command_key_and_name(site: Path, pages: dict[Path, Page]) -> None:
    reference = site / "reference"
    assert {f"robustness-{name}" for name in COMMANDS} <= pages[reference / "command_line.html"].anchors
    study = (reference / "study_files.html").read_text(encoding="utf-8")
    assert [key for key in StudyFile.model_fields if f"<code>{key}</code>" not in study] == []
    names = (reference / "python.html").read_text(encoding="utf-8")
    for name in [*robustness.__all__, *report.__all__, *robustness.testing.__all__, *robustness.callbacks.__all__]:
        assert f"<code>{name}</code>" in names, name
