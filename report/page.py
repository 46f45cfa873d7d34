"""The report as one HTML file: it asks no other host for anything, and reads without JavaScript.

A Content-Security-Policy allows this one script and this one style sheet, by their hashes, and nothing else. Every text
that comes from a study is escaped by the templates. The same store gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from report.analysis import Analysis
from report.comparison import Sample
from report.drawing.style import Numbers, text
from report.exports import results_csv
from report.figures import draw_sections, make_material
from report.frames import StudyFrames
from report.material import Material
from report.sections.cautions import cautions
from report.sections.configurations import configuration_table
from report.sections.outcomes import share
from report.sections.own_results import stands_alone
from report.sections.provenance import how_it_was_made
from report.sections.thresholds import slider, slider_data
from robustness.store import StudyStore

_TEMPLATES = Path(__file__).parent / "templates"


def write_report(study: StudyStore | StudyFrames | Analysis, path: Path | str) -> Path:
    """Write the report of a study, which may still be running; gives the file's path."""
    return write_material(make_material(study), Path(path))


def write_material(material: Material, path: Path) -> Path:
    """Write the page of a study that has been analysed."""
    path.write_text(render(material), encoding="utf-8", newline="\n")
    return path


def render(material: Material) -> str:
    """The page."""
    sections = draw_sections(material)
    data = slider_data(material, Sample.of(material.frames))
    alone = stands_alone(material.analysis)
    control = None if alone else slider(material, data)
    contents = [("verdict", "Verdict"), ("warnings", "Before you trust it")]
    if control is not None:
        contents.append(("thresholds", "Choose your own thresholds"))
    contents += [(section["name"], section["title"]) for section in sections]
    contents += [("configurations", "All configurations"), ("making", "How it was made")]
    style, script = _asset("page.css"), _asset("page.js")
    frames = material.frames
    csv = results_csv(frames)
    return (
        _environment()
        .get_template("page.html")
        .render(
            policy=_policy(script, style),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            data=_embedded(data),
            name=text(frames.name, 200),
            description=text(frames.document.get("description", ""), 2000),
            verdict=material.analysis["verdict"],
            headline=None if alone else _headline(material),
            warnings=cautions(material),
            slider=control,
            sections=sections,
            contents=contents,
            configurations=configuration_table(material),
            csv={"href": _data_url(csv), "name": f"{_file_name(frames.name)}.csv", "rows": len(frames.trials)},
            making=how_it_was_made(frames),
        )
    )


def _headline(material: Material) -> Numbers:
    rows = []
    for arm, found in material.analysis["arms"].items():
        for epoch in ("best", "last"):
            shares = (share(found["at"][epoch][outcome]) for outcome in ("learned_nothing", "good"))
            scores = material.pairs.loc[material.pairs["arm"] == arm, f"score_{epoch}"]
            highest = "–" if scores.empty else f"{scores.max():.4f}"
            rows.append((text(arm, 60), epoch, *shares, highest))
    return Numbers(("Arm", "Epoch", "Learned nothing", "Good", "Highest score"), tuple(rows))


def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(_TEMPLATES)
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    def fingerprint(content: str) -> str:
        return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{fingerprint(script)}'; style-src 'sha256-{fingerprint(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _embedded(data: Mapping[str, Any]) -> Markup:
    """JSON that cannot end the script element it stands in."""
    written = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for letter in "<>&":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(written)  # noqa: S704 - nothing of HTML is left in it


def _data_url(csv: str) -> str:
    return "data:text/csv;charset=utf-8," + quote(csv, safe=",;:@/?!~*'()=+$[] ".replace(" ", ""))


def _file_name(name: str) -> str:
    """The study's name as far as every file system takes it."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
    return kept.strip("._")[:80] or "study"
