"""A report section: the longest step of each arm, from the curves that the trainable `walk` keeps."""

from __future__ import annotations

from collections.abc import Iterator

from report import Analysis, Group, JudgedStudy, Numbers, Section, Topic


def results(study: JudgedStudy) -> dict[str, float] | None:
    curves = study.frames.curves
    if curves.empty:
        return None
    own = curves[curves["name"] == "steps"]
    longest = own["values"].map(max).groupby(own["arm"]).max()
    return {str(arm): float(value) for arm, value in longest.items()}


def sections(analysis: Analysis) -> Iterator[Section]:
    longest = analysis.part("steps")
    if not longest:
        return
    rows = tuple((arm, f"{value:.3f}") for arm, value in longest.items())
    yield Section("steps", "Longest steps", f"{len(rows)} arms took steps.", numbers=Numbers(("Arm", "Longest"), rows))


TOPIC = Topic(Group.RUNS, sections, "steps", results)
