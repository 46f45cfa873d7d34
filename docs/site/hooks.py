"""MkDocs hooks: reference pages are generated from the code, and formulas become MathML."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from command_line import command_line_page
from formulas import with_mathml
from python_names import python_page
from study_files import study_files_page

ROOT = Path(__file__).parents[2]
GENERATED = {
    "reference/command_line.md": command_line_page,
    "reference/python.md": python_page,
    "reference/study_files.md": study_files_page,
}
"""Pages whose part after the first rule (`---`) is made from the code."""
COPIED = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md", "security.md": "SECURITY.md"}
"""Pages that are files of the project's root."""
_ROOT_LINK = re.compile(r"\]\(((?:\.\./)*)\.\./(CHANGELOG|CONTRIBUTING|SECURITY)\.md")
"""A link to such a file as the repository needs it; on the site it is a page."""
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_CODE_IN_LIST = re.compile(r"^ {7}(?=\S)", re.MULTILINE)
"""Code in a numbered item: CommonMark counts from the item's text, Python-Markdown wants eight spaces."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in what is generated or copied."""
    source = page.file.src_uri
    if source in COPIED:
        return copied_page(COPIED[source])
    if source in GENERATED:
        return "\n\n".join([markdown.split("\n---\n")[0], GENERATED[source]()])
    markdown = _ROOT_LINK.sub(lambda found: f"]({found[1]}{found[2].lower()}.md", markdown)
    parts = _FENCED.split(markdown)
    return "".join(part if place % 2 else _CODE_IN_LIST.sub(" " * 8, part) for place, part in enumerate(parts))


def on_page_content(html: str, **_: Any) -> str:
    """Draw formulas."""
    return with_mathml(html)


def copied_page(name: str) -> str:
    """Return a file of the root with its links as seen from `docs/`."""
    text = (ROOT / name).read_text(encoding="utf-8")
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\]\((CHANGELOG|CONTRIBUTING|SECURITY)\.md", lambda found: f"]({found[1].lower()}.md", text)
