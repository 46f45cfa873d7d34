"""Figures: the sections of the report with their pictures, as SVG in the page or as SVG and PDF files for a paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from markupsafe import Markup

from report.analysis import Analysis, analyse
from report.drawing.style import Section, drawing
from report.drawing.svg import quiet, to_svg
from report.frames import StudyFrames
from report.material import Material
from report.sections.against import against_section
from report.sections.budget import budget_section
from report.sections.continual import continual_grid_section, continual_section
from report.sections.controls import controls_section
from report.sections.curves import curves_section
from report.sections.dose import dose_section
from report.sections.dynamics import dynamics_section
from report.sections.finals.section import compared_section, finals_section
from report.sections.gradient_noise import gradient_noise_section
from report.sections.left_out import left_out_section
from report.sections.outcomes import outcomes_section
from report.sections.own_results import stands_alone
from report.sections.paired_tests import paired_tests_section
from report.sections.pairs import pairs_section
from report.sections.profiles import profiles_section
from report.sections.referral import calibration_section, referral_section
from report.sections.regression import regression_section
from report.sections.search import history_section, slices_section, winning_section
from report.sections.sensitivity import importance_section, sensitivity_section
from report.sections.soap_bubble import soap_bubble_section
from report.sections.thumbnails import thumbnails_section
from report.sections.timeline import timeline_section
from report.sections.winners import reference_section, variance_section, winners_section
from robustness.store import StudyStore

Maker: TypeAlias = Callable[[Material], Section | None]

OWN_SECTIONS: tuple[Maker, ...] = (
    finals_section,
    compared_section,
    referral_section,
    calibration_section,
    thumbnails_section,
    winning_section,
    history_section,
    slices_section,
    soap_bubble_section,
    gradient_noise_section,
    continual_section,
    continual_grid_section,
    regression_section,
    controls_section,
    dose_section,
)
"""Of studies of a kind of their own (`report.sections.own_results`)."""
FRACTION_SECTIONS: tuple[Maker, ...] = (
    outcomes_section,
    paired_tests_section,
    against_section,
    reference_section,
    profiles_section,
    pairs_section,
    budget_section,
    sensitivity_section,
    importance_section,
    winners_section,
    variance_section,
)
"""Of studies that compare arms over many configurations."""
RUN_SECTIONS: tuple[Maker, ...] = (curves_section, dynamics_section, left_out_section, timeline_section)
"""How the trials went, whatever the study is about."""


def make_sections(material: Material) -> Iterator[Section]:
    """The parts of the report that have something to show, in its order."""
    fractions = () if stands_alone(material.analysis) else FRACTION_SECTIONS
    for make in (*OWN_SECTIONS, *fractions, *RUN_SECTIONS):
        section = make(material)
        if section is not None:
            yield section


def make_material(study: StudyStore | StudyFrames | Analysis) -> Material:
    """Everything that the figures and the page are made from."""
    found = study if isinstance(study, Analysis) else analyse(study)
    return Material(found.frames, found.judges, found.judged, found.results)


def draw_sections(material: Material) -> list[dict[str, Any]]:
    """Each section that has something to show, as plain values for a template, its pictures as SVG."""
    found = []
    with drawing():
        for section in make_sections(material):
            pictures = []
            for picture in section.pictures:
                svg = to_svg(picture.draw(), picture.name, picture.title, picture.description)
                # Every text in it was escaped when the SVG was written.
                pictures.append({"title": picture.title, "svg": Markup(svg)})  # noqa: S704
            found.append({**vars(section), "pictures": pictures})
    return found


def write_figures(study: StudyStore | StudyFrames | Analysis, folder: Path | str) -> list[Path]:
    """Write every picture of a study into a folder, as SVG and as PDF; gives the files."""
    material = make_material(study)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    with drawing():
        for section in make_sections(material):
            for picture in section.pictures:
                figure = picture.draw()
                svg, pdf = place / f"{picture.name}.svg", place / f"{picture.name}.pdf"
                content = to_svg(figure, picture.name, picture.title, picture.description, in_page=False)
                svg.write_text(content, encoding="utf-8", newline="\n")
                with quiet():
                    figure.savefig(pdf, format="pdf", metadata={"CreationDate": None, "Title": picture.title})
                written += [svg, pdf]
    return written
