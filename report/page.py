"""The report as one HTML file, which requests nothing from any host and reads without JavaScript; figures as files.

A Content-Security-Policy allows this one script and this one style sheet, by their hashes, and nothing else. Every text
that comes from a study is escaped by the templates. The same store always yields the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import jinja2
from markupsafe import Markup

from report.analysis import Analysis, analyse
from report.document import Gallery, Link, Numbers, Picture, Section
from report.drawing.style import drawing
from report.drawing.svg import quiet, to_svg
from report.drawing.widths import Width, fit_to
from report.embedding import TEMPLATES, asset, csv_link, page_data, policy, script, style
from report.exploring.data import explore_data
from report.exploring.section import explore_section
from report.first_screen.glossary import arm_lines, glossary
from report.first_screen.screen import NO_WARNINGS, FirstScreen, first_screen, verdict_picture
from report.first_screen.studied import studied
from report.frames import StudyFrames
from report.sections import make_sections, sections_by_part
from report.sections.configurations import configuration_table
from report.sections.provenance import provenance
from report.sections.topic import Part
from report.words import text, typeset
from robustness.guards.outputs import GENERATOR, writing
from robustness.store import StudyStore

_BLOCK = re.compile(r":root \{([^}]*)\}")
"""The declarations of `theme.css`: those of the light theme, then those of the dark one."""
_BREAKS = re.compile(r"(?<=_)(?=[^\W_])|(?<=[a-z0-9])(?=[A-Z])")
MOST_TITLES = 4
"""How many of its sections the heading of a part names."""


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


class DrawnPart(TypedDict):
    """A part of the page that folds."""

    name: str
    title: str
    about: str
    open: bool
    sentences: list[str]
    sections: list[DrawnSection]
    contents: list[tuple[str, str]]
    last: bool


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
        for picture, _ in pictures(analysis):
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


def pictures(analysis: Analysis) -> Iterator[tuple[Picture, str]]:
    """Every picture of the report with the name of its section: first that of the verdict."""
    verdict = verdict_picture(analysis)
    if verdict is not None:
        yield verdict, "verdict"
    for section in make_sections(analysis):
        yield from ((picture, section.name) for picture in section.pictures)


def render(analysis: Analysis) -> str:
    """The page."""
    sheet, code = style(), script()
    frames, explored, configurations = analysis.frames, explore_data(analysis), configuration_table(analysis)
    imported = frames.document.get("imported") is not None
    return (
        _environment()
        .get_template("page.html")
        .render(
            generator=GENERATOR,
            policy=policy(code, sheet),
            style=Markup(sheet),  # noqa: S704 - our own files
            script=Markup(code),  # noqa: S704 - our own files
            data=page_data(explored, configurations),
            explore=explore_section(analysis) if explored else None,
            name=text(frames.name, 200),
            # The description of an import is always the same.
            description="" if imported else text(frames.document.get("description", ""), 2000),
            studied=typeset(studied(analysis)),
            **_first_screen(first_screen(analysis)),
            arm_lines=arm_lines(analysis),
            glossary=[(typeset(word), typeset(meaning)) for word, meaning in glossary(analysis)],
            parts=draw_parts(analysis),
            configurations=configurations,
            csv=csv_link(frames),
            provenance=provenance(frames),
        )
    )


def notebook_html(analysis: Analysis) -> str:
    """The first screen as a notebook shows it: one element with its style, which applies to nothing else."""
    style = f"{_notebook_theme()}\n{asset('first_screen.css')}"
    values = _first_screen(first_screen(analysis), level=4, links=False)
    return _environment().get_template("notebook.html").render(style=Markup(style), **values)  # noqa: S704 - our own


def draw_parts(analysis: Analysis) -> list[DrawnPart]:
    """The parts of the page that have something to show, the last of which ends with the tables of the whole study."""
    drawn: list[DrawnPart] = []
    for part, sections in sections_by_part(analysis).items():
        first, last = part is Part.HOW_SURE, part is Part.DETAILS
        contents = [(section.name, section.short or section.title) for section in sections]
        if first:
            contents.insert(0, ("full-verdict", "The verdict in full"))
        if last:
            contents += [("configurations", "All configurations"), ("making", "How it was made")]
        if contents:
            drawn.append(
                {
                    "name": part.anchor,
                    "title": part.title,
                    "about": _about([title for _, title in contents]),
                    # The sections of a study that stands alone are its answer.
                    "open": first or (analysis.alone and not last),
                    "sentences": list(typeset_all(analysis.results["verdict"])) if first else [],
                    "sections": draw_sections(sections),
                    "contents": contents,
                    "last": last,
                }
            )
    return drawn


def _about(titles: Sequence[str]) -> str:
    """What a part contains: `The verdict in full · Pair by pair · and 3 more`."""
    named = [text(title, 40) for title in titles[:MOST_TITLES]]
    rest = len(titles) - len(named)
    return " · ".join([*named, *([f"and {rest} more"] if rest else [])])


def draw_sections(sections: Iterable[Section]) -> list[DrawnSection]:
    """Sections with their pictures as SVG."""
    drawn: list[DrawnSection] = []
    with drawing():
        for section in sections:
            svgs: list[DrawnPicture] = []
            for picture in section.pictures:
                title, description = typeset(picture.title), typeset(picture.description)
                svg = to_svg(picture.draw(), picture.name, title, description)
                # Every text in it was escaped when the SVG was written.
                svgs.append({"title": title, "svg": Markup(svg)})  # noqa: S704
            drawn.append(
                {
                    "name": section.name,
                    "title": section.title,
                    "reading": typeset(section.reading),
                    "pictures": svgs,
                    "numbers": None if section.numbers is None else typeset_table(section.numbers),
                    "notes": typeset_all(section.notes),
                    "galleries": section.galleries,
                }
            )
    return drawn


def typeset_all(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts as the page prints them."""
    return tuple(typeset(each) for each in texts)


def typeset_table(numbers: Numbers) -> Numbers:
    """A table as the page prints it; links keep their sections."""
    rows = (tuple(cell if isinstance(cell, Link) else typeset(cell) for cell in row) for row in numbers.rows)
    return Numbers(typeset_all(numbers.columns), tuple(rows))


def _analysed(study: StudyStore | StudyFrames | Analysis) -> Analysis:
    return study if isinstance(study, Analysis) else analyse(study)


def _first_screen(screen: FirstScreen, level: int = 3, links: bool = True) -> dict[str, object]:
    """The values of `first_screen.html`: `level` is that of its heading; a notebook has no sections to link to."""
    drawn = screen.comparisons
    screen = replace(
        screen,
        sentence=typeset(screen.sentence),
        location=typeset(screen.location),
        further=typeset_all(screen.further),
        comparisons=drawn if drawn is None else replace(drawn, note=typeset(drawn.note)),
        arms=None if screen.arms is None else typeset_table(screen.arms),
        arms_caption=typeset(screen.arms_caption),
        warnings=typeset_all(screen.warnings),
        folded=typeset_all(screen.folded),
    )
    return {"screen": screen, "level": level, "links": links, "no_warnings": NO_WARNINGS}


def _notebook_theme() -> str:
    """The colours of the page for one element of a notebook, in the theme of JupyterLab or VS Code."""
    light, dark = _BLOCK.findall(asset("theme.css"))
    hosts = ('[data-jp-theme-light="false"]', ".vscode-dark", ".vscode-high-contrast")
    return f".robustness {{{light}}}\n{', '.join(f'{host} .robustness' for host in hosts)} {{{dark}}}"


def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["breakable"] = breakable
    return environment


def breakable(words: str) -> Markup:
    """The words, whose names break after an underscore or between words in capitals where a line is too short."""
    parts = _BREAKS.split(words)
    return Markup("<wbr>").join(parts)
