"""Sections of installed packages: entry points of the group `robustness.sections`, each a `Topic`.

    [project.entry-points."robustness.sections"]
    drift = "robustness_drift:TOPIC"

The name of the entry point is the key of its results in the JSON. A report can always be written: a section that cannot
be loaded or raises an exception becomes one that says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from report.document import Section, plain
from report.judged_study import JudgedStudy
from report.sections.topic import Group, Topic
from report.words import text
from robustness.errors import RobustnessError
from robustness.plugins import Group as EntryPoints
from robustness.plugins import installed, load_installed

if TYPE_CHECKING:
    from report.analysis import Analysis

GROUP: EntryPoints = "robustness.sections"


def installed_topics() -> tuple[Topic, ...]:
    """The topics of installed packages, in the order of their names."""
    return tuple(_guarded(name) for name in sorted(installed(GROUP)))


def _guarded(name: str) -> Topic:
    """The topic of an entry point, whose failures stay its own."""
    try:
        topic = load_installed(GROUP, name, "report")
        if not isinstance(topic, Topic):
            raise RobustnessError(f"{name!r} is a {type(topic).__name__}, not a report.Topic")
    except RobustnessError as error:
        problem = str(error)
        return Topic(Group.RUNS, lambda _: iter([_failed(name, problem)]))

    def results(study: JudgedStudy) -> object:
        if topic.results is None:
            return None
        try:
            part = plain(topic.results(study))
            json.dumps(part, allow_nan=False)
            if part is not None and topic.group is Group.OWN:
                _check_own(part)
        except Exception as error:
            # An installed package's code may raise anything.
            return {"sentences": [], "alone": False, "error": f"{type(error).__name__}: {error}"}
        return part

    def sections(analysis: Analysis) -> Iterator[Section]:
        part = analysis.results.get(name)
        if isinstance(part, dict) and "error" in part:
            yield _failed(name, str(part["error"]))
            return
        try:
            yield from list(topic.sections(analysis))
        except Exception as error:
            yield _failed(name, f"{type(error).__name__}: {error}")

    return replace(topic, sections=sections, key=name, results=results)


def _check_own(part: object) -> None:
    for key, kind in (("sentences", list), ("alone", bool)):
        if not isinstance(part, dict) or not isinstance(part.get(key), kind):
            raise TypeError(f"the results of an own kind of study need {key!r}, a {kind.__name__}")


def _failed(name: str, problem: str) -> Section:
    reading = f"This section of an installed package could not be made: {text(problem, 300)}"
    return Section(f"installed-{text(name, 40)}", text(name, 60), reading)
