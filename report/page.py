"""The report as one HTML file, which requests nothing from any host and reads without JavaScript; figures as files.

A Content-Security-Policy allows this one script and this one style sheet, by their hashes, and nothing else. Every text
that comes from a study is escaped by the templates. The same store always yields the same bytes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import NotRequired, TypedDict
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from report.analysis import Analysis, analyse
from report.document import Gallery, Numbers
from report.drawing.style import drawing
from report.drawing.svg import quiet, to_svg
from report.drawing.widths import Width, fit_to
from report.exploring.data import ExploreData, explore_data
from report.exploring.packing import pack_rows
from report.exploring.section import explore_section
from report.exports import results_csv
from report.frames import StudyFrames
from report.judging import OUTCOMES
from report.sections import make_sections
from report.sections.cautions import cautions
from report.sections.configurations import configuration_table
from report.sections.provenance import provenance
from report.words import score, share_cell, text
from robustness.files import file_name
from robustness.guards.outputs import GENERATOR, writing
from robustness.store import StudyStore
from robustness.sweep.outcomes import SUMMARIES

_TEMPLATES = Path(__file__).parent / "templates"
_STYLES = ("page.css", "explore.css")
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
    "explore",
    "start",
)
"""The files in `templates/scripts`, in the order in which they make the page's one script."""
_LARGE_CSV = 200_000
"""From this many bytes on, the table of results in the page is compressed."""


class PageData(TypedDict):
    """The data of the page's script."""

    explore: ExploreData | None
    table: NotRequired[str]
    """All rows of the table of configurations, packed, if the page lists only the first."""


class CsvLink(TypedDict):
    """The table of results inside the page."""

    href: str
    name: str
    plain: str | None
    """The name of the CSV that the page's script makes of a compressed one."""
    rows: int


class DrawnPicture(TypedDict):
    """A picture as SVG."""

    title: str
    svg: Markup


class DrawnSection(TypedDict):
    """A section as plain values for a template."""

    name: str
    title: str
    reading: str
    pictures: list[DrawnPicture]
    numbers: Numbers | None
    notes: tuple[str, ...]
    galleries: tuple[Gallery, ...]


def write_report(study: StudyStore | StudyFrames | Analysis, path: Path | str, force: bool = False) -> Path:
    """Write the page of a study, which may still be running; returns the path.

    Raises RobustnessError instead of replacing a file that is not an output of robustness, unless forced.
    """
    path = Path(path)
    with writing(path, force, encoding="utf-8", newline="\n") as file:
        file.write(render(_analysed(study)))
    return path


def write_figures(
    study: StudyStore | StudyFrames | Analysis, folder: Path | str, force: bool = False, width: Width | None = None
) -> list[Path]:
    """Write every picture of a study into a folder, as SVG and as PDF; returns the files. Replaces as a report does.

    They are as large as in the report, or fit a paper's `column` or `page`.
    """
    analysis = _analysed(study)
    place = Path(folder)
    written = []
    with drawing():
        for section in make_sections(analysis):
            for picture in section.pictures:
                figure = picture.draw()
                if width is not None:
                    fit_to(figure, width)
                svg, pdf = place / f"{picture.name}.svg", place / f"{picture.name}.pdf"
                content = to_svg(figure, picture.name, picture.title, picture.description, in_page=False)
                with writing(svg, force, encoding="utf-8", newline="\n") as file:
                    file.write(f"<!-- {GENERATOR} -->\n{content}")
                with quiet(), writing(pdf, force, "wb") as file:
                    metadata = {"CreationDate": None, "Title": picture.title, "Creator": GENERATOR}
                    figure.savefig(file, format="pdf", metadata=metadata)
                written += [svg, pdf]
    return written


def render(analysis: Analysis) -> str:
    """The page."""
    sections = draw_sections(analysis)
    explored = explore_data(analysis)
    contents = [
        ("verdict", "Verdict"),
        ("warnings", "Before you trust it"),
        *([("explore", "Explore")] if explored else []),
        *((section["name"], section["title"]) for section in sections),
        ("configurations", "All configurations"),
        ("making", "How it was made"),
    ]
    style, script = "".join(map(_asset, _STYLES)), _script()
    frames = analysis.frames
    configurations = configuration_table(analysis)
    data: PageData = {"explore": explored}
    if len(configurations.rows) > len(configurations.listed):
        data["table"] = pack_rows(configurations.rows)
    return (
        _environment()
        .get_template("page.html")
        .render(
            generator=GENERATOR,
            policy=_policy(script, style),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            data=_embedded(data),
            explore=explore_section(analysis) if explored else None,
            name=text(frames.name, 200),
            description=text(frames.document.get("description", ""), 2000),
            verdict=analysis.results["verdict"],
            headline=None if analysis.alone else _headline(analysis),
            warnings=cautions(analysis),
            sections=sections,
            contents=contents,
            configurations=configurations,
            csv=_csv_link(frames),
            provenance=provenance(frames),
        )
    )


def draw_sections(analysis: Analysis) -> list[DrawnSection]:
    """Each section that has something to show."""
    drawn: list[DrawnSection] = []
    with drawing():
        for section in make_sections(analysis):
            pictures: list[DrawnPicture] = []
            for picture in section.pictures:
                svg = to_svg(picture.draw(), picture.name, picture.title, picture.description)
                # Every text in it was escaped when the SVG was written.
                pictures.append({"title": picture.title, "svg": Markup(svg)})  # noqa: S704
            drawn.append(
                {
                    "name": section.name,
                    "title": section.title,
                    "reading": section.reading,
                    "pictures": pictures,
                    "numbers": section.numbers,
                    "notes": section.notes,
                    "galleries": section.galleries,
                }
            )
    return drawn


def _analysed(study: StudyStore | StudyFrames | Analysis) -> Analysis:
    return study if isinstance(study, Analysis) else analyse(study)


def _headline(analysis: Analysis) -> Numbers:
    rows = []
    shown = OUTCOMES if analysis.frames.has_thresholds else ()
    for arm, entry in analysis.results["arms"].items():
        for epoch in SUMMARIES:
            shares = (share_cell(entry["at"][epoch][outcome]) for outcome in shown)
            scores = analysis.pairs.loc[analysis.pairs["arm"] == arm, f"score_{epoch}"]
            median, best = (None, None) if scores.empty else (scores.median(), analysis.goal.best(scores.tolist()))
            middle = () if shown else (score(median),)
            rows.append((text(arm, 60), epoch, *shares, *middle, score(best)))
    outcomes = ("Learned nothing", "Good") if shown else ("Median score",)
    return Numbers(("Arm", "Epoch", *outcomes, "Best score"), tuple(rows))


def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(_TEMPLATES)
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _script() -> str:
    files = "".join(_asset(f"scripts/{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{files}}})();\n'


def _policy(script: str, style: str) -> str:
    def fingerprint(content: str) -> str:
        return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()

    return (
        f"default-src 'none'; script-src 'sha256-{fingerprint(script)}'; style-src 'sha256-{fingerprint(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _embedded(data: PageData) -> Markup:
    """JSON that cannot end the script element it stands in."""
    written = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    for letter in "<>&":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(written)  # noqa: S704 - nothing of HTML is left in it


def _csv_link(frames: StudyFrames) -> CsvLink:
    """The table of results as the address of a link: plain CSV, or gzip where that is large."""
    csv, name = results_csv(frames), f"{file_name(frames.name)}.csv"
    if len(csv) < _LARGE_CSV:
        address = "data:text/csv;charset=utf-8," + quote(csv, safe=",;:@/?!~*'()=+$[]")
        return {"href": address, "name": name, "plain": None, "rows": len(frames.trials)}
    content = base64.b64encode(gzip.compress(csv.encode(), mtime=0)).decode("ascii")
    address = f"data:application/gzip;base64,{content}"
    return {"href": address, "name": f"{name}.gz", "plain": name, "rows": len(frames.trials)}
