"""Studies of a kind of their own: what they show opens the page, beside the fractions or instead of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stores import fill, made_study

from report import figures
from report.drawing.style import Section
from report.figures import make_material
from report.material import Material
from report.page import render
from report.sections import own_results
from robustness.store import open_store


@pytest.mark.parametrize("alone", [True, False])
def test_a_kind_of_its_own_opens_the_page_and_may_replace_the_fractions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    def section(material: Material) -> Section:
        return Section("tasks", "Task by task", material.analysis["tasks"]["sentences"][0])

    found = {"sentences": ["The first task is kept."], "alone": alone, "accuracy": 0.5}
    monkeypatch.setitem(own_results.KINDS, "tasks", lambda _: found)
    monkeypatch.setattr(figures, "OWN_SECTIONS", (section,))
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        material = make_material(fill(store, made_study()))
    assert material.analysis["tasks"]["accuracy"] == 0.5
    assert material.analysis["verdict"][0] == "The first task is kept."
    assert (len(material.analysis["verdict"]) == 1) == alone
    page = render(material)
    assert 'id="tasks"' in page
    for name in ("outcomes", "profiles", "thresholds"):
        assert (f'id="{name}"' in page) != alone
    assert 'id="curves"' in page


def test_a_study_of_no_kind_of_its_own_has_fractions_only(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        results = make_material(fill(store, made_study())).analysis
    assert not own_results.stands_alone(results)
    assert not set(own_results.KINDS) & set(results)
