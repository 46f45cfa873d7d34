"""What a page carries inside its one file: style and script with the policy that allows them, data, results as CSV."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import NotRequired, TypedDict
from urllib.parse import quote

from markupsafe import Markup

from report.exploring.data import ExploreData
from report.exploring.packing import pack_rows
from report.exports import results_csv
from report.frames import StudyFrames
from report.sections.configurations import ConfigurationTable
from robustness.files import file_name

TEMPLATES = Path(__file__).parent / "templates"
_STYLES = ("theme", "first_screen", "page", "explore")
_SCRIPTS = (
    "data",
    "distributions",
    "statistics",
    "recompute",
    "elements",
    "state",
    "charts",
    "plots",
    "views",
    "card",
    "heat_map",
    "controls",
    "results",
    "table",
    "download",
    "folding",
    "explore",
    "start",
)
"""The files in `templates/scripts`, in the order in which they make the page's one script."""
_LARGE_CSV = 200_000
"""From this many characters on, the results in the page are compressed."""


class PageData(TypedDict):
    """The data of the page's script."""

    explore: ExploreData | None
    table: NotRequired[str]
    """All rows of the table of configurations, packed, if the page lists only the first."""


class CsvLink(TypedDict):
    """The link to the results inside the page."""

    href: str
    name: str
    plain: str | None
    """The name of the CSV that the page's script makes of a compressed one."""
    rows: int


def asset(name: str) -> str:
    """A file of the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def style() -> str:
    """The page's one style sheet."""
    return "\n".join(asset(f"{name}.css") for name in _STYLES)


def script() -> str:
    """The page's one script."""
    files = "\n".join(asset(f"scripts/{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{files}}})();\n'


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy that allows this script and this style sheet, by their hashes, and nothing else."""

    def fingerprint(content: str) -> str:
        return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{fingerprint(script)}'; style-src 'sha256-{fingerprint(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def page_data(explored: ExploreData | None, table: ConfigurationTable) -> Markup:
    """The data of the page's script, as JSON that cannot end the script element it stands in."""
    data: PageData = {"explore": explored}
    if len(table.rows) > len(table.listed):
        data["table"] = pack_rows(table.rows)
    written = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for letter in "<>&":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(written)  # noqa: S704 - nothing of HTML is left in it


def csv_link(frames: StudyFrames) -> CsvLink:
    """The results as the address of a link: plain CSV, or gzip where that is large."""
    csv, name = results_csv(frames), f"{file_name(frames.name)}.csv"
    if len(csv) < _LARGE_CSV:
        address = "data:text/csv;charset=utf-8," + quote(csv, safe=",;:@/?!~*'()=+$[]")
        return {"href": address, "name": name, "plain": None, "rows": len(frames.trials)}
    content = base64.b64encode(gzip.compress(csv.encode(), mtime=0)).decode("ascii")
    address = f"data:application/gzip;base64,{content}"
    return {"href": address, "name": f"{name}.gz", "plain": name, "rows": len(frames.trials)}
