"""The registry of sections: a new section is a module and a line; studies that speak for themselves open the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.stores import fill, made_study

from report import sections
from report.analysis import Analysis, analyse, as_json_text
from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.page import render
from report.sections.topic import Group, Topic
from robustness.store import open_store


@pytest.mark.parametrize("alone", [True, False])
def test_a_kind_of_its_own_opens_the_page_and_may_replace_the_fractions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    def results(_: JudgedStudy) -> dict[str, Any]:
        return {"sentences": ["The first task is kept."], "alone": alone, "accuracy": 0.5}

    def own_sections(analysis: Analysis) -> Iterator[Section]:
        yield Section("kept_tasks", "Task by task", analysis.part("kept_tasks")["sentences"][0])

    topic = Topic(Group.OWN, own_sections, "kept_tasks", results)
    monkeypatch.setattr(sections, "SECTIONS", (topic, *sections.SECTIONS))
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        analysis = analyse(fill(store, made_study()))
    assert analysis.part("kept_tasks")["accuracy"] == 0.5
    assert analysis.results["verdict"][0] == "The first task is kept."
    assert (len(analysis.results["verdict"]) == 1) == alone
    page = render(analysis)
    assert 'id="kept_tasks"' in page
    for name in ("outcomes", "profiles", "thresholds"):
        assert (f'id="{name}"' in page) != alone
    assert 'id="curves"' in page


def test_a_study_of_no_kind_of_its_own_has_fractions_only(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        results = analyse(fill(store, made_study())).results
    assert not sections.stands_alone(results)
    assert not {topic.key for topic in sections.SECTIONS if topic.group is Group.OWN} & set(results)


@pytest.mark.parametrize("group", [Group.FRACTIONS, Group.RUNS])
def test_a_new_section_is_two_functions_and_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: Group
) -> None:
    def results(study: JudgedStudy) -> dict[str, int]:
        return {arm: int((study.planned["arm"] == arm).sum()) for arm in study.frames.arms}

    def toy_sections(analysis: Analysis) -> Iterator[Section]:
        counts = analysis.part("toy")
        rows = tuple((arm, str(count)) for arm, count in counts.items())
        yield Section("toy", "A toy", f"{sum(counts.values())} trials.", numbers=Numbers(("Arm", "Trials"), rows))

    monkeypatch.setattr(sections, "SECTIONS", (*sections.SECTIONS, Topic(group, toy_sections, "toy", results)))
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        analysis = analyse(fill(store, made_study()))
    assert json.loads(as_json_text(analysis.results))["toy"] == {"mfvi": 12, "radial": 12}
    page = render(analysis)
    assert '<h3 id="toy-heading">A toy</h3>' in page
    assert '<a href="#toy">A toy</a>' in page
    assert page.index('id="timeline"') < page.index('id="toy"') < page.index('id="configurations"')


def test_every_key_of_the_results_is_that_of_one_section() -> None:
    keys = [topic.key for topic in sections.SECTIONS if topic.key is not None]
    assert len(keys) == len(set(keys))
    assert all((topic.key is None) == (topic.results is None) for topic in sections.SECTIONS)
